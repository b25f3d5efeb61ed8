import { createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import Provider from 'oidc-provider'
import type { Teardown } from '../../../dev/test-database.ts'

export const clientSecret = 'a-client-secret-of-tests'

export interface Account {
  email?: string
  email_verified?: boolean
  name?: string
  groups?: string[]
}

const listen = async (t: Teardown, listener: RequestListener, port = 0) => {
  const server = createServer(listener).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  t.teardown(close)
  return { port: (server.address() as { port: number }).port, close }
}

const makeJwk = () => {
  const jwk = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
  return { ...jwk, kid: randomUUID(), use: 'sig', alg: 'RS256' }
}

const askingPage = '<!doctype html><title>Provider</title><form method="post"><button>Continue</button></form>'

/**
 * Starts a certified provider, which signs in whoever `who` names, or refuses for `deny`. Browsers see a page of it
 * first. `host` names it: with another than 127.0.0.1, it is another site than the pages of a test.
 */
export const startProvider = async (
  t: Teardown,
  redirectUri: () => string,
  accounts: Record<string, Account>,
  host = '127.0.0.1',
) => {
  const state = { who: '' }
  let handle: RequestListener = (_request, response) => response.writeHead(503).end()
  const { port, close } = await listen(t, (request, response) => handle(request, response))
  const issuer = `http://${host}:${port}`
  /** Starts it anew, with new keys. */
  const rotate = () => {
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: 'courier',
          client_secret: clientSecret,
          redirect_uris: [redirectUri()],
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      jwks: { keys: [makeJwk() as never] },
      cookies: { keys: ['a-cookie-key-of-tests'] },
      claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      // A busy machine takes longer than a minute to redeem many.
      ttl: { AuthorizationCode: 600 },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...accounts[id] }) }),
      loadExistingGrant: async ({ oidc }) => {
        const grantId = oidc.session?.grantIdFor('courier')
        if (grantId) return oidc.provider.Grant.find(grantId)
        const grant = new oidc.provider.Grant({ clientId: 'courier', accountId: oidc.session?.accountId ?? '' })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
    })
    const serve = provider.callback()
    handle = (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return void serve(request, response)
      if (request.method === 'GET' && request.headers.accept?.includes('text/html'))
        return void response.writeHead(200, { 'content-type': 'text/html' }).end(askingPage)
      const denied = { error: 'access_denied', error_description: 'Private text' }
      const result = state.who === 'deny' ? denied : { login: { accountId: state.who } }
      void provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    }
  }
  rotate()
  return { issuer, state, rotate, close }
}

/**
 * Walks from the provider's address through its pages, as a browser with these cookies does; returns where it sends the
 * browser back.
 */
export const walk = async (start: string, redirectUri: string, jar = new Map<string, string>()): Promise<string> => {
  let url = start
  for (let steps = 0; steps < 8; steps++) {
    if (url.startsWith(redirectUri)) return url
    const cookie = [...jar].map(pair => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    await response.arrayBuffer()
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=')
      jar.set(name, value)
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`${response.status} at ${url}`)
    url = new URL(location, url).href
  }
  throw new Error('too many steps')
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export const signToken = (key: KeyObject, header: object, claims: object): string => {
  const head = `${encode({ alg: 'RS256', kid: 'one', ...header })}.${encode(claims)}`
  return `${head}.${createSign('RSA-SHA256').update(head).sign(key).toString('base64url')}`
}

/** Starts a provider that answers with the ID tokens that `makeToken` makes of right claims. */
export const startLiar = async (
  t: Teardown,
  makeToken: (key: KeyObject, claims: Record<string, unknown>) => string | undefined,
) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const liar = { nonce: '', issuer: '' }
  const read = async (request: IncomingMessage) => {
    for await (const _ of request);
  }
  const { port } = await listen(t, async (request, response) => {
    await read(request)
    const send = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/.well-known/openid-configuration')
      return send({
        issuer: liar.issuer,
        authorization_endpoint: `${liar.issuer}/auth`,
        token_endpoint: `${liar.issuer}/token`,
        jwks_uri: `${liar.issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      })
    if (request.url === '/jwks') return send({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] })
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: liar.issuer, aud: 'courier', sub: 'one', nonce: liar.nonce, iat: now, exp: now + 300 }
    const person = { email: 'viewer@courier.example', email_verified: true }
    const id_token = makeToken(privateKey, { ...claims, ...person })
    if (id_token === undefined) return send({ error: 'invalid_grant' }, 400)
    return send({ access_token: 'x', token_type: 'bearer', id_token })
  })
  liar.issuer = `http://127.0.0.1:${port}`
  return liar
}
