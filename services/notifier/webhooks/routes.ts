import { createKnownAddresses } from '@courier/shared/http/addresses.ts'
import { DomainError, errorAnswers } from '@courier/shared/http/errors.ts'
import { validator } from '@courier/shared/http/validator.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Applied, ApplyOptions, Call } from './apply.ts'
import { factsOf, originsOf } from './envelope.ts'
import { parseJson } from './json.ts'
import { shareCommits } from './share-commits.ts'
import { signatureOf } from './signature.ts'
import { type AppSecretsOf, createSignerFinder, type FindSigners, isVerifyToken } from './verify.ts'

export interface WebhooksOptions extends ApplyOptions {
  pool: pg.Pool
  appSecretsOf: AppSecretsOf
  /** Told when held messages became due. */
  onReleased: () => void
  /** Told of each kind of fact how many there were. */
  onFact?: ((kind: keyof Applied | 'refused', count: number) => void) | undefined
}

const path = '/webhooks/messaging'
const maxBodyBytes = 3 * 1024 * 1024
const tags = ['webhooks']

const VerificationQuery = Type.Object({
  'hub.mode': Type.Optional(Type.Unknown({ description: 'subscribe' })),
  'hub.verify_token': Type.Optional(Type.Unknown({ description: 'The verify token of one of our numbers.' })),
  'hub.challenge': Type.Optional(Type.Unknown({ description: 'Given back as the whole answer.' })),
})

const Challenge = { description: 'The challenge.', content: { 'text/plain': { schema: Type.String() } } }
const Forbidden = Type.Object({ message: Type.String() }, { description: 'Another mode, or an unknown verify token.' })
const Taken = Type.Object({}, { description: 'All of it is on disk.' })

/** The calls of the messaging API (messaging-api 4). */
export const webhooks: FastifyPluginAsyncTypebox<WebhooksOptions> = async (app, options) => {
  const findSigners = createSignerFinder(options.pool, options.appSecretsOf)
  const takeCall = shareCommits(options.pool, options)
  // The signature is of the body's bytes: they come to the handler as they are.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))

  const knownAddresses = createKnownAddresses()
  app.addHook('onRequest', knownAddresses.admit)

  app.get(
    path,
    {
      schema: {
        tags,
        summary: 'Prove that the address is ours',
        querystring: VerificationQuery,
        response: { 200: Challenge, 403: Forbidden, ...errorAnswers(429, 503) },
      },
    },
    async (request, reply) => {
      const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = request.query
      const isAnswerable = mode === 'subscribe' && typeof token === 'string' && typeof challenge === 'string'
      if (isAnswerable && (await isVerifyToken(options.pool, token))) return reply.type('text/plain').send(challenge)
      return reply.code(403).send({ message: 'Forbidden.' })
    },
  )

  app.post(
    path,
    {
      bodyLimit: maxBodyBytes,
      schema: {
        tags,
        summary: 'Take the events of the messaging API',
        headers: Type.Object({
          'x-hub-signature-256': Type.Optional(Type.String({ description: 'HMAC-SHA256 of the body, app secret.' })),
        }),
        body: Type.Unknown(),
        response: { 200: Taken, ...errorAnswers(401, 413, 415, 429, 503) },
      },
    },
    async request => {
      const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const call = await readCall(findSigners, bytes, request.headers['x-hub-signature-256'])
      if (!call) {
        options.onFact?.('refused', 1)
        request.log.warn({ bytes: bytes.length }, 'webhook.refused')
        throw new DomainError('unauthenticated', 'Unauthenticated.')
      }
      knownAddresses.add(request)
      const applied = await takeCall(call)
      if (applied) tell(request, applied, options)
      return {}
    },
  )
}

const tell = (request: FastifyRequest, applied: Applied, { onFact, onReleased }: WebhooksOptions): void => {
  request.log.info(applied, 'webhook.applied')
  for (const [kind, count] of Object.entries(applied)) onFact?.(kind as keyof Applied, count)
  if (applied.released > 0) onReleased()
}

/** What a call says; undefined when none of our numbers signed it. */
const readCall = async (
  findSigners: FindSigners,
  bytes: Buffer,
  signature: string | undefined,
): Promise<Call | undefined> => {
  if (!signatureOf(signature)) return undefined
  const document = parseJson(bytes)
  const signers = await findSigners(originsOf(document), bytes, signature)
  return signers.length === 0 ? undefined : { signers, facts: factsOf(document, new Date()) }
}
