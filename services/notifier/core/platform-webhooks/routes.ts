import { unauthenticated } from '@courier/shared/access/authenticate.ts'
import { refusal } from '@courier/shared/edge/addresses.ts'
import { validator } from '@courier/shared/edge/validator.ts'
import { errorResponses, httpError } from '@courier/shared/errors/errors.ts'
import { type Clock, createClock } from '@courier/shared/postgres/clock.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { ListAppSecrets } from '../channels/secrets.ts'
import { type Applied, type ApplyOptions, createApplier } from './apply.ts'
import { type AccountReader, listIgnored, listOrigins, readFacts, scanOrigins } from './envelope.ts'
import { parseJson } from './json.ts'
import { createSenders, maxBodyBytes } from './senders.ts'
import { createSignals } from './signals.ts'
import type { SignedWebhook } from './signed-facts.ts'
import { createSignerFinder, createVerifier, type FindSigners, type FoundSigners, isVerifyToken } from './verify.ts'

export interface WebhooksOptions extends ApplyOptions {
  pool: pg.Pool
  listAppSecrets: ListAppSecrets
  onReleased: () => void
  /** Runs after the commit, with the counts of the transaction. */
  onApplied?: ((applied: Applied) => void) | undefined
  onApproved?: (() => void) | undefined
  /** Limits the refused requests per minute of an unknown network address; unlimited if omitted. */
  strangersPerMinute?: number | undefined
  onFact?: ((kind: string, count: number) => void) | undefined
  /** Counts changes of a field that is not read. */
  onIgnored?: ((field: string, count: number) => void) | undefined
}

const path = '/webhooks/messaging'

const VerificationQuery = Type.Object({
  'hub.mode': Type.Optional(Type.Unknown({ description: 'subscribe' })),
  'hub.verify_token': Type.Optional(Type.Unknown({ description: 'The verify token of one of our numbers.' })),
  'hub.challenge': Type.Optional(Type.Unknown({ description: 'Returned as the whole response.' })),
})

const Challenge = {
  description: 'The challenge.',
  content: { 'text/plain': { schema: Type.String(), example: '1158201444' } },
}
const exampleStatus = { id: 'wamid.HBgLOTQ3NzAwMDAxMDE', status: 'delivered', timestamp: '1771527983' }
const exampleValue = { metadata: { phone_number_id: '106540352242922' }, statuses: [exampleStatus] }
const exampleEntry = { id: '102290129340398', changes: [{ field: 'messages', value: exampleValue }] }
const exampleWebhook = { object: 'whatsapp_business_account', entry: [exampleEntry] }

const Processed = Type.Object({}, { description: 'The events are committed.' })

/** Serves the webhooks of the messaging API (docs/contributors/messaging-api.md#webhooks). */
export const webhookRoutes: FastifyPluginAsyncTypebox<WebhooksOptions> = async (app, options) => {
  const readers = (options.points ?? []).flatMap(({ accounts }) => accounts ?? [])
  const findSigners = createSignerFinder(options.pool, options.listAppSecrets)
  const apply = createApplier(options.pool, options)
  const noteSignals = createSignals(options.pool, options.logger)
  const clock = createClock(options.pool)
  // The signature covers the body's bytes: the handler gets them unchanged.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  app.setValidatorCompiler<TSchema>(context => (context.httpPart === 'body' ? () => true : validator(context)))

  const senders = createSenders(options.strangersPerMinute ?? Number.POSITIVE_INFINITY)
  app.decorateRequest('countedSenders')
  app.addHook('onRequest', senders.admit)
  app.addHook('onResponse', senders.settle)

  const VerifyWebhook = {
    operationId: 'verifyWebhook',
    summary: 'Prove that the address is ours',
    querystring: VerificationQuery,
    response: { 200: Challenge, ...errorResponses(403, 429, 503) },
  }
  app.get(path, { schema: VerifyWebhook }, async (request, reply) => {
    const { 'hub.mode': mode, 'hub.verify_token': token, 'hub.challenge': challenge } = request.query
    const problem = findQueryProblem(mode, token, challenge)
    if (!problem && (await isVerifyToken(options.pool, String(token))))
      return reply.type('text/plain').send(String(challenge))
    request.log.warn({ reason: problem ?? 'unknown_verify_token' }, 'webhook.verification_failed')
    throw httpError('forbidden', 'Forbidden.')
  })

  const AcceptWebhook = {
    operationId: 'acceptWebhook',
    summary: 'Accept the events of the messaging API',
    headers: Type.Object({
      'x-hub-signature-256': Type.Optional(Type.String({ description: 'HMAC-SHA256 of the body, app secret.' })),
    }),
    body: Type.Unknown({ examples: [exampleWebhook] }),
    response: { 200: Processed, ...errorResponses(401, 413, 415, 429, 503) },
  }
  app.post(path, { bodyLimit: maxBodyBytes, schema: AcceptWebhook }, async request => {
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const isPaused = request.guessingPause !== undefined
    const webhook = await readWebhook(
      { findSigners, clock, readers },
      bytes,
      request.headers['x-hub-signature-256'],
      isPaused,
    )
    if (webhook.kind === 'refused') {
      options.onFact?.('refused', 1)
      request.log.warn({ bytes: bytes.length, reason: webhook.reason }, 'webhook.refused')
      throw refusal(request, unauthenticated())
    }
    senders.welcome(request)
    if (webhook.kind === 'foreign') {
      options.onFact?.('foreign', 1)
      request.log.info({ bytes: bytes.length }, 'webhook.foreign')
      await noteSignals(webhook.signers, [])
      return {}
    }
    const { signers, facts } = webhook.signed
    for (const { field, metric, count } of webhook.ignored) {
      options.onIgnored?.(metric, count)
      request.log.info({ field, count }, 'webhook.field_ignored')
    }
    const applied = await apply(webhook.signed)
    if (applied) report(request, applied, options)
    await noteSignals(signers, facts)
    return {}
  })
}

const report = (
  request: FastifyRequest,
  applied: Applied,
  { onFact, onReleased, onApplied, onApproved }: WebhooksOptions,
): void => {
  request.log.info(applied, 'webhook.applied')
  for (const [kind, count] of Object.entries(applied)) onFact?.(kind, count)
  if (applied.released > 0) onReleased()
  onApplied?.(applied)
  if (applied.approved > 0) onApproved?.()
}

/** Returns the reason to refuse a verification before its token is checked; no reason contains a secret. */
const findQueryProblem = (mode: unknown, token: unknown, challenge: unknown): string | undefined => {
  if (mode !== 'subscribe') return 'mode_not_subscribe'
  if (typeof token !== 'string') return 'no_verify_token'
  return typeof challenge === 'string' ? undefined : 'no_challenge'
}

type ReadWebhook =
  | { kind: 'signed'; signed: SignedWebhook; ignored: ReturnType<typeof listIgnored> }
  | Exclude<FoundSigners, { kind: 'signed' }>

/** Reads the facts of a webhook that one of our app secrets signed. Parses nothing before the signature is verified. */
const readWebhook = async (
  { findSigners, clock, readers }: { findSigners: FindSigners; clock: Clock; readers: readonly AccountReader[] },
  bytes: Buffer,
  signature: string | undefined,
  isPaused: boolean,
): Promise<ReadWebhook> => {
  const isSignedWith = createVerifier(bytes, signature)
  const scanned = await findSigners(scanOrigins(bytes), isSignedWith, isPaused, bytes.length)
  if (scanned.kind !== 'signed') return scanned
  const document = parseJson(bytes)
  const found = await findSigners(listOrigins(document), isSignedWith, false, bytes.length)
  if (found.kind !== 'signed') return found
  const signed = { signers: found.signers, facts: readFacts(document, await clock(), readers) }
  return { kind: 'signed', signed, ignored: listIgnored(document, readers) }
}
