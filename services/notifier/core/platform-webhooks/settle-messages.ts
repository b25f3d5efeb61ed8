import { inSpans, readTraceId, type Tracer } from '@courier/shared/traces.ts'
import type { Logger } from 'pino'
import type { MessageStatus, Tx } from '../database/tables.ts'
import { classifyCode } from '../messaging-api/classify.ts'
import { findLastingEffect } from '../sending/decide.ts'
import { applyEffect } from '../sending/effects.ts'
import {
  findStatusUpdates,
  type LockedMessage,
  type Settlement,
  type Sighting,
  toKey,
  writeSettlements,
} from './message-queries.ts'
import { type Report, settle } from './settle.ts'
import type { WebhookPoint } from './webhook-point.ts'

interface SettleOptions {
  readonly logger: Logger
  readonly tracer?: Tracer | undefined
  readonly points?: readonly WebhookPoint[] | undefined
}

/** Moves locked messages on as reported. Counts the reports that moved a message, and those that match none. */
export const settleMessages = async (
  tx: Tx,
  locked: readonly LockedMessage[],
  sightings: readonly Sighting[],
  { logger, tracer, points = [] }: SettleOptions,
): Promise<{ moved: number; unmatched: number }> => {
  const { matched, unmatched } = match(locked, sightings)
  const reported = [...matched.keys()]
  const again = reported.filter(mayLeaveAgain)
  const known = again.length > 0 ? await findStatusUpdates(tx, again) : new Map<string, ReadonlySet<string>>()
  const settlements = reported.map((message): Settlement => {
    const reports = selectCurrent(message, matched.get(message) ?? [])
    const steps = settle(message.status, reports, known.get(toKey(message)))
    return { message, steps, providerMessageId: steps.at(-1)?.providerMessageId ?? '' }
  })
  const changing = settlements.filter(({ steps }) => steps.length > 0)
  const messages = changing.map(({ message }) => message)
  const write = () => writeSettlements(tx, changing)
  await Promise.all([
    changing.length > 0 && inSpans(tracer, 'webhook.settle', 'consumer', messages, write),
    ...points.map(({ onStatuses }) => onStatuses?.(tx, matched)),
  ])
  const moved = changing.reduce((sum, { steps }) => sum + steps.length, 0)
  await reactToFailures(tx, logger, changing)
  logTraced(logger, changing)
  return { moved, unmatched }
}

const reached: readonly MessageStatus[] = ['accepted', 'sent', 'delivered', 'read', 'failed']

/** Returns true if a message's status does not show which reports are repetitions: after a resend, for example. */
const mayLeaveAgain = ({ status, formerIds }: LockedMessage): boolean =>
  formerIds.length > 0 || !reached.includes(status)

/**
 * From earlier sends, accepts only delivered and read: their failure does not concern the new send. If the response of
 * an earlier send was lost, its id is not among the former ones, but differs from that of the send accepted since.
 */
const selectCurrent = <R extends Report>(
  { formerIds, providerMessageId, status }: LockedMessage,
  reports: readonly R[],
): R[] => {
  const accepted = reached.includes(status) ? providerMessageId : null
  const isCurrent = (id: string): boolean => !formerIds.includes(id) && (accepted ?? id) === id
  return reports.filter(
    report => isCurrent(report.providerMessageId) || report.status === 'delivered' || report.status === 'read',
  )
}

/** Matches reports by our callback data first: the API's own id may not be stored yet. */
const match = (locked: readonly LockedMessage[], sightings: readonly Sighting[]) => {
  const byId = new Map(locked.map(message => [toKey(message), message]))
  const byProvider = new Map(
    locked
      .filter(({ providerMessageId }) => providerMessageId !== null)
      .map(message => [`${message.tenant} ${message.providerMessageId}`, message]),
  )
  const matched = new Map<LockedMessage, Report[]>()
  let unmatched = 0
  for (const report of sightings) {
    const { tenant, phoneNumberId, messageId, providerMessageId } = report
    const reported = messageId === undefined ? undefined : byId.get(toKey({ tenant, messageId }))
    const message = reported ?? byProvider.get(`${tenant} ${providerMessageId}`)
    if (message?.phoneNumberId !== phoneNumberId) unmatched++
    else if (matched.has(message)) matched.get(message)?.push(report)
    else matched.set(message, [report])
  }
  return { matched, unmatched }
}

const logTraced = (logger: Logger, settlements: readonly Settlement[]): void => {
  for (const { message, steps } of settlements) {
    const { tenant, messageId, traceparent } = message
    const status = steps.at(-1)?.status
    if (status && traceparent)
      logger.debug({ tenant, message_id: messageId, ...readTraceId(traceparent) }, `message.${status}`)
  }
}

/** Pauses and rests channels and holds templates, each once, however many messages failed; ignores other effects. */
const reactToFailures = async (tx: Tx, logger: Logger, settlements: readonly Settlement[]): Promise<void> => {
  const reactions = new Map<string, { message: LockedMessage; effect: NonNullable<ReturnType<typeof findEffect>> }>()
  for (const { message, steps } of settlements) {
    const last = steps.at(-1)
    const effect = last?.status === 'failed' ? findEffect(last.errorCode) : undefined
    const { tenant, phoneNumberId, templateName, language } = message
    // Locks numbers before templates.
    const order = Number(effect?.kind === 'hold_template')
    if (effect)
      reactions.set(JSON.stringify([order, tenant, phoneNumberId, templateName, language, effect]), { message, effect })
  }
  for (const [, { message, effect }] of [...reactions].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    await applyEffect(tx, logger, message, effect)
}

const findEffect = (code: number | null) => {
  const cause = classifyCode(code)
  return findLastingEffect(cause, cause.meaning)
}
