import { inSpans, type Tracer, traceIdOf } from '@courier/shared/traces.ts'
import type { Logger } from 'pino'
import { pauseChannel } from '../channels/queries.ts'
import type { MessageStatus, Tx } from '../database/tables.ts'
import { classify } from '../messaging-api/classify.ts'
import { holdTemplate } from '../templates/queries.ts'
import {
  findStatusUpdates,
  keyOf,
  type LockedMessage,
  type PricedReport,
  type Reference,
  type Settlement,
  writeSettlements,
} from './message-queries.ts'
import { type Report, type ReportedStatus, settle } from './settle.ts'

/** A report and the message that it is about. */
export interface Sighting {
  readonly reference: Reference
  readonly report: Report
}

/** A message that failed after it was accepted. */
export interface ReportedFailure {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly messageId: string
  readonly code: number | null
  readonly templateName: string | null
  readonly language: string | null
}

export interface TracedStatus {
  readonly message: LockedMessage
  readonly status: ReportedStatus
}

/**
 * Moves locked messages on as far as the reports lead, each with its timeline events. Counts the reports that changed a
 * message and those on messages that are not ours; returns the failures, and the messages of a trace with a new status.
 */
export const settleMessages = async (
  tx: Tx,
  locked: readonly LockedMessage[],
  sightings: readonly Sighting[],
  tracer?: Tracer,
) => {
  const { matched, unmatched } = match(locked, sightings)
  const reported = [...matched.keys()]
  const again = reported.filter(mayLeaveAgain)
  const known = again.length > 0 ? await findStatusUpdates(tx, again) : new Map<string, ReadonlySet<string>>()
  const settlements = reported.map((message): Settlement => {
    const reports = currentReports(message, matched.get(message) ?? [])
    const steps = settle(message.status, reports, known.get(keyOf(message)))
    const providerMessageId = (steps.at(-1) ?? reports.at(-1))?.providerMessageId ?? ''
    return { message, steps, providerMessageId }
  })
  const changing = settlements.filter(({ message, steps }) => steps.length > 0 || message.providerMessageId === null)
  const prices = [...matched].flatMap(([message, reports]) => pricedOnce(message, reports))
  if (changing.length + prices.length > 0) {
    const messages = changing.map(({ message }) => message)
    await inSpans(tracer, 'webhook.settle', 'consumer', messages, () => writeSettlements(tx, changing, prices))
  }
  const moved = changing.reduce((sum, { steps }) => sum + steps.length, 0)
  return { moved, unmatched, failures: changing.flatMap(failureOf), traced: changing.flatMap(tracedOf) }
}

/** Returns the first pricing of each send of a message. */
const pricedOnce = (message: LockedMessage, reports: readonly Report[]): PricedReport[] => {
  const priced = reports.filter(report => report.pricing !== undefined).sort((a, b) => a.at.getTime() - b.at.getTime())
  const first = new Map(priced.toReversed().map(report => [report.providerMessageId, report]))
  return [...first.values()].map(report => ({ message, report: report as PricedReport['report'] }))
}

const reached: readonly MessageStatus[] = ['accepted', 'sent', 'delivered', 'read', 'failed']

/** The status of a resent message does not show which reports are repetitions. */
const mayLeaveAgain = ({ status, formerIds }: LockedMessage): boolean =>
  formerIds.length > 0 || !reached.includes(status)

/**
 * From earlier sends, accepts only delivered and read: their failure does not concern the new one. Where the response
 * of an earlier send was lost, its id is not among the former ones, but differs from that of the send accepted since.
 */
const currentReports = <Histories extends Report>(
  { formerIds, providerMessageId, status }: LockedMessage,
  reports: readonly Histories[],
): Histories[] => {
  const accepted = reached.includes(status) ? providerMessageId : null
  const isCurrent = (id: string): boolean => !formerIds.includes(id) && (accepted ?? id) === id
  return reports.filter(
    report => isCurrent(report.providerMessageId) || report.status === 'delivered' || report.status === 'read',
  )
}

/** Matches by our callback data first: the API's own id may not be stored yet. */
const match = (locked: readonly LockedMessage[], sightings: readonly Sighting[]) => {
  const byId = new Map(locked.map(message => [keyOf(message), message]))
  const byProvider = new Map(
    locked
      .filter(({ providerMessageId }) => providerMessageId !== null)
      .map(message => [`${message.tenant} ${message.providerMessageId}`, message]),
  )
  const matched = new Map<LockedMessage, Report[]>()
  let unmatched = 0
  for (const { reference, report } of sightings) {
    const { tenant, phoneNumberId, messageId, providerMessageId } = reference
    const own = messageId === undefined ? undefined : byId.get(keyOf({ tenant, messageId }))
    const message = own ?? byProvider.get(`${tenant} ${providerMessageId}`)
    if (message?.phoneNumberId !== phoneNumberId) unmatched++
    else if (matched.has(message)) matched.get(message)?.push(report)
    else matched.set(message, [report])
  }
  return { matched, unmatched }
}

const failureOf = ({ message, steps }: Settlement): ReportedFailure[] => {
  const last = steps.at(-1)
  if (last?.status !== 'failed') return []
  const { tenant, phoneNumberId, messageId, templateName, language } = message
  return [{ tenant, phoneNumberId, messageId, code: last.errorCode, templateName, language }]
}

const tracedOf = ({ message, steps }: Settlement): TracedStatus[] => {
  const last = steps.at(-1)
  return last && message.traceparent ? [{ message, status: last.status }] : []
}

export const logTraced =
  (logger: Logger) =>
  ({ message: { tenant, messageId, traceparent }, status }: TracedStatus): void =>
    logger.debug({ tenant, message_id: messageId, ...traceIdOf(traceparent) }, `message.${status}`)

const unreported = { status: null, subcode: null, isTransient: false, retryAfterSeconds: null }

/**
 * Draws the same consequences from reported failures as from refused sends: holds a template, pauses a channel. It does
 * so once for each channel and template, however many messages failed.
 */
export const reactToFailures =
  (logger: Logger) =>
  async (tx: Tx, failures: readonly ReportedFailure[]): Promise<void> => {
    const unique = new Map(failures.map(failure => [JSON.stringify({ ...failure, messageId: '' }), failure]))
    const causes = [...unique]
      .sort()
      .map(([, failure]) => ({ ...failure, cause: classify({ ...unreported, code: failure.code }) }))
    // Locks numbers before templates.
    const pausesFirst = causes.toSorted(
      (a, b) => Number(b.cause.class === 'pause_channel') - Number(a.cause.class === 'pause_channel'),
    )
    for (const { tenant, phoneNumberId, code, templateName, language, cause } of pausesFirst) {
      const fact = { tenant, phone_number_id: phoneNumberId, code }
      if (cause.class === 'hold_template' && code !== null && templateName !== null && language !== null) {
        await holdTemplate(tx, tenant, phoneNumberId, templateName, language, code)
        logger.warn({ ...fact, template: templateName }, 'template.held')
      }
      if (cause.class === 'pause_channel' && cause.pauseSeconds === null) {
        const paused = await pauseChannel(tx, tenant, phoneNumberId, code, cause.meaning)
        if (paused.length > 0) logger.error({ ...fact, reason: cause.meaning }, 'channel.paused')
      }
    }
  }
