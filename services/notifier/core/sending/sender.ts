import { atMost } from '@courier/shared/lru-limit.ts'
import { inTenant, retryDeadlocks } from '@courier/shared/postgres/database.ts'
import { inSpans, readTraceId, type Tracer } from '@courier/shared/traces.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { assignNumber, type Prover } from '../channels/prove.ts'
import type { AccessTokens, TokenKeeper } from '../channels/secrets.ts'
import { isOpen } from '../conversations/conversation.ts'
import { identify, movePeople, type OnMoved, type Sighting } from '../conversations/identities.ts'
import { findMoved, recordInbound, releaseHeld } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { classify } from '../messaging-api/classify.ts'
import { type Content, isPlain } from '../messaging-api/message-template.ts'
import { type Accepted, bareRefusal, type Failed, type Refused } from '../messaging-api/responses.ts'
import { decide } from './decide.ts'
import type { createEffects } from './effects.ts'
import type { ClaimedMessage } from './message.ts'
import type { SendOutcome } from './outcomes.ts'

/** Takes part in writing the content of messages. */
export interface ContentPoint {
  /** Returns the content to send, such as with sealed buttons. Runs after the commit of `sending`. */
  readonly seal: (keyring: Keyring, message: ClaimedMessage, content: Content, now: Date) => Content
}

interface SenderOptions extends Prover {
  readonly contents?: readonly ContentPoint[] | undefined
  readonly onMoved?: readonly OnMoved[] | undefined
  readonly tokens: TokenKeeper
  readonly carryOut: ReturnType<typeof createEffects>
  readonly logger: Logger
  readonly tracer?: Tracer | undefined
  readonly onUnopened?: () => void
}

/** Creates the function that sends a claimed message. It never rejects: a bug of ours leaves the message `unknown`. */
export const createSender = (options: SenderOptions) => {
  const { carryOut, logger, tracer } = options
  let loggedVersion: string | null = null
  const prove = createProofBySending(options)
  const learn = createLearner(options)
  return async (message: ClaimedMessage): Promise<SendOutcome> => {
    try {
      const result = await inSpans(tracer, 'message.send', 'client', [message], ([traced = message]) =>
        write(options, traced),
      )
      if (result === 'unopened') return await restNumber(options, message)
      const { servedVersion = null } = 'servedVersion' in result ? result : {}
      // The API serves requests for an expired version with a later one.
      if (servedVersion !== null && servedVersion !== loggedVersion)
        logger.info({ served_version: servedVersion }, 'messaging_api.version')
      loggedVersion = servedVersion ?? loggedVersion
      if (result.kind === 'accepted') {
        await prove(message)
        await learn(message, result)
        await takeOver(options, message)
      }
      const { outcome, effects } = decide(message, result, Math.random)
      const hasResponse = result.kind === 'accepted' || result.kind === 'refused'
      await carryOut(message, effects, hasResponse)
      logOutcome(logger, outcome, result)
      return outcome
    } catch (err) {
      logger.error({ err, message_id: message.id }, 'message.send_failed')
      return decide(message, { kind: 'no_response', reason: 'an internal error' }, Math.random).outcome
    }
  }
}

/** Creates the function that proves numbers by accepted messages; it checks each number at most once a minute. */
const createProofBySending = (options: SenderOptions) => {
  const seen = new LRUCache<string, true>({ ...atMost(10_000), ttl: 60_000 })
  return async ({ tenant, phoneNumberId }: ClaimedMessage): Promise<void> => {
    const key = `${tenant} ${phoneNumberId}`
    if (seen.has(key)) return
    seen.set(key, true)
    await assignNumber(options, tenant, phoneNumberId).catch(err =>
      options.logger.warn({ err }, 'channel.proving_failed'),
    )
  }
}

/** Creates the function that stores which number and user id a response names together; each pair once. */
const createLearner = ({ pool, logger, onMoved }: SenderOptions) => {
  const seen = new LRUCache<string, true>(atMost(10_000))
  return async ({ tenant }: ClaimedMessage, { contact }: Accepted): Promise<void> => {
    const key = contact && `${tenant} ${contact.userId} ${contact.phone}`
    if (!contact || !key || seen.has(key)) return
    seen.set(key, true)
    const sighting = { tenant, userId: contact.userId, recipient: contact.phone }
    const storing = retryDeadlocks(() => inTenant(pool, tenant, (tx: Tx) => learn(tx, sighting, onMoved)))
    await storing.catch(err => logger.warn({ err }, 'person.not_learned'))
  }
}

const learn = async (tx: Tx, sighting: Sighting, onMoved?: readonly OnMoved[]): Promise<void> => {
  const { moves } = await identify(tx, [sighting])
  await movePeople(tx, moves, { onMoved })
  const people = await findMoved(tx, moves)
  await releaseHeld(
    tx,
    people.filter(({ lastInboundAt, now }) => isOpen(lastInboundAt, now)),
  )
}

/**
 * Stores that a reply of staff took the conversation from another responder: no webhook says it to the new owner. If
 * that fails, the conversation counts as the other's until the person writes to us.
 */
const takeOver = async (
  { pool, logger }: SenderOptions,
  { tenant, phoneNumberId, recipient, template }: ClaimedMessage,
) => {
  if (!isPlain(template) || !template.takesOver) return
  const by = { kind: 'platform', name: 'send' } as const
  const store = async (tx: Tx) => {
    const people = await recordInbound(tx, [{ tenant, phoneNumberId, recipient, at: null, owner: 'ours', by }])
    await releaseHeld(tx, people)
  }
  const storing = retryDeadlocks(() => inTenant(pool, tenant, store))
  await storing.catch(err => logger.warn({ err }, 'conversation.owner_not_stored'))
}

const restSeconds = 30

/**
 * Queues a message again whose token could not be opened; the number rests, so that its messages are not claimed again
 * at once.
 */
const restNumber = async (options: SenderOptions, message: ClaimedMessage): Promise<SendOutcome> => {
  options.onUnopened?.()
  await options.carryOut(message, [{ kind: 'rest_channel', code: null, seconds: restSeconds }], false)
  return { message, status: 'queued', isAttempt: false, dueSeconds: 0 }
}

/** Stands for the API's response to a request without a token: it pauses the channel and uses up no attempt. */
const withoutToken: Refused = { ...bareRefusal, kind: 'refused', status: 401, code: 104 }

/** Writes a message. Before a refusal pauses the channel, tries tokens that another process may have stored. */
const write = async (options: SenderOptions, message: ClaimedMessage): Promise<Accepted | Failed | 'unopened'> => {
  const { tenant, phoneNumberId } = message
  const { tokens, logger } = options
  const until = performance.now() + sendMilliseconds
  const find = () =>
    tokens.find(tenant, phoneNumberId).catch((err: Error) => {
      logger.error({ err, tenant, phone_number_id: phoneNumberId }, 'credential.not_read')
      return err
    })
  const found = await find()
  if (found instanceof VaultError) return 'unopened'
  const result = await sendWith(options, message, found, until)
  if (found instanceof Error || !isPausing(result)) return result
  tokens.forget(tenant, phoneNumberId)
  const stored = await find()
  if (stored instanceof VaultError) return 'unopened'
  const isNew = !(stored instanceof Error) && (stored.current !== found.current || stored.next !== found.next)
  return isNew ? sendWith(options, message, stored, until) : result
}

/** Limits all tries of a send together, and is shorter than the queue's `sendSeconds`. */
const sendMilliseconds = 15_000

const isPausing = (result: Accepted | Failed): boolean =>
  result.kind === 'refused' && classify(result).class === 'pause_channel'

/** Sends with the newest token first; if the API refuses it, sends with the old one, which duplicates nothing. */
const sendWith = async (
  { api, keyring, tokens, logger, contents = [] }: SenderOptions,
  message: ClaimedMessage,
  found: AccessTokens | Error,
  until: number,
): Promise<Accepted | Failed> => {
  if (found instanceof Error) return { kind: 'not_written', reason: 'the access token could not be read' }
  const { current, next } = found
  const { tenant, phoneNumberId, recipient, id, traceparent } = message
  const seal = (content: Content, point: ContentPoint) => point.seal(keyring, message, content, message.claimedAt)
  const template = contents.reduce(seal, message.template)
  const send = (accessToken: string) => {
    const withinMilliseconds = until - performance.now()
    const content = { to: recipient, template, callbackData: id, traceparent, withinMilliseconds }
    return api.send({ accessToken }, phoneNumberId, content)
  }
  if (!next) return current ? send(current) : withoutToken
  const result = await send(next)
  if (isPausing(result) && current) {
    const code = 'code' in result ? result.code : null
    logger.warn({ tenant, phone_number_id: phoneNumberId, code }, 'credential.new_token_refused')
    return send(current)
  }
  if (result.kind === 'accepted')
    await tokens.promote(tenant, phoneNumberId, next).catch(err => logger.warn({ err }, 'credential.not_promoted'))
  return result
}

const logOutcome = (logger: Logger, outcome: SendOutcome, result: Accepted | Failed): void => {
  const { tenant, id, phoneNumberId, attempts, traceparent } = outcome.message
  const ids = { tenant, message_id: id, phone_number_id: phoneNumberId, ...readTraceId(traceparent) }
  const fact = { ...ids, attempts, code: outcome.code }
  if (outcome.status === 'accepted') logger.debug(fact, 'message.accepted')
  else logger.warn({ ...fact, response: result.kind, meaning: outcome.meaning }, `message.${outcome.status}`)
}
