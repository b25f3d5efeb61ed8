import * as oidc from 'openid-client'
import type { Provider } from '../../core/access/providers.ts'

const timeoutSeconds = 20
/** Allows for clocks that differ. */
const toleranceSeconds = 30

/** Names the reason of a refused sign-in; the portal has a sentence for each. */
export class SignInError extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** undefined: the provider names none that it verified. */
  readonly email: string | undefined
  readonly name: string
  readonly groups: readonly string[]
}

export interface Flow {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Talks to the provider of one client. Discovery waits for the first sign-in, and is tried again after a failure. */
export const createProviderClient = (provider: Provider) => {
  let discovered: Promise<oidc.Configuration> | undefined
  const isPlain = provider.issuer.startsWith('http:')
  const secret = oidc.ClientSecretPost(provider.client_secret)
  const tolerance = { [oidc.clockTolerance]: toleranceSeconds }
  const prepare = (config: oidc.Configuration): oidc.Configuration => {
    config.timeout = timeoutSeconds
    if (isPlain) oidc.allowInsecureRequests(config)
    // Verifies the signature of the ID token, although it comes from the provider itself.
    oidc.enableNonRepudiationChecks(config)
    return config
  }
  const discover = (): Promise<oidc.Configuration> =>
    oidc.discovery(new URL(provider.issuer), provider.client_id, tolerance, secret, {
      timeout: timeoutSeconds,
      ...(isPlain && { execute: [oidc.allowInsecureRequests] }),
    })
  const configure = (): Promise<oidc.Configuration> => {
    discovered ??= discover().catch(error => {
      discovered = undefined
      throw error
    })
    return discovered
  }
  let keys: ReturnType<typeof oidc.getJwksCache>
  /** Returns a configuration that reads the keys anew, at once, if the provider signs with one that it had not. */
  const renew = (config: oidc.Configuration): oidc.Configuration => {
    const renewed = prepare(new oidc.Configuration(config.serverMetadata(), provider.client_id, tolerance, secret))
    if (keys) oidc.setJwksCache(renewed, { jwks: keys.jwks, uat: keys.uat - 60 })
    return renewed
  }
  return {
    provider,
    /** Returns the address to which the browser goes. */
    authorize: async (redirectUri: string, { state, nonce, verifier }: Flow): Promise<string> => {
      const config = await configure()
      return oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: provider.scope ?? 'openid email profile',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      }).href
    },
    /** Redeems the code with which the provider sent the browser back. Throws an error of the library. */
    redeem: async (url: URL, { state, nonce, verifier }: Flow): Promise<Identity> => {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      try {
        const config = renew(await configure())
        const identity = await readIdentity(provider, config, url, checks)
        keys = oidc.getJwksCache(config)
        return identity
      } catch (error) {
        // The provider may have new keys or addresses: the next sign-in reads them anew.
        discovered = undefined
        throw error
      }
    },
  }
}
export type ProviderClient = ReturnType<typeof createProviderClient>

const readIdentity = async (
  provider: Provider,
  config: oidc.Configuration,
  url: URL,
  checks: oidc.AuthorizationCodeGrantChecks,
): Promise<Identity> => {
  const tokens = await oidc.authorizationCodeGrant(config, url, checks)
  const token = tokens.claims()
  if (!token) throw new SignInError('failed')
  const lacks = typeof token.email !== 'string' && config.serverMetadata().userinfo_endpoint
  const claims = lacks ? { ...token, ...(await oidc.fetchUserInfo(config, tokens.access_token, token.sub)) } : token
  const { email, email_verified, name } = claims as Record<string, unknown>
  const isVerified = email_verified === true || provider.trust_email === true
  const groups = (claims as Record<string, unknown>)[provider.groups_claim ?? 'groups']
  return {
    issuer: token.iss,
    subject: token.sub,
    email: typeof email === 'string' && isVerified ? email.trim().toLowerCase() : undefined,
    name: typeof name === 'string' ? name : '',
    groups: Array.isArray(groups) ? groups.filter(each => typeof each === 'string') : [],
  }
}

/** Returns what the operator may read of an error: its codes, never its texts, which may hold personal data. */
export const describeError = (error: unknown): { code?: string; error?: string } => {
  const { code, error: name, cause } = error as { code?: unknown; error?: unknown; cause?: { code?: unknown } }
  const word = (value: unknown) => (typeof value === 'string' && /^[\w.-]{1,60}$/.test(value) ? value : undefined)
  const [found, named] = [word(code) ?? word(cause?.code), word(name)]
  return { ...(found && { code: found }), ...(named && { error: named }) }
}
