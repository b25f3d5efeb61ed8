import type { Tx } from '../database/tables.ts'
import type { MessageStatus } from '../messages/status.ts'
import {
  findMoments,
  keyOf,
  type LockedMessage,
  type Reference,
  type Settlement,
  writeSettlements,
} from './message-queries.ts'
import { type Report, settle } from './settle.ts'

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
  readonly templateName: string
  readonly language: string
}

export interface Settled {
  /** Reports that changed a message. */
  readonly moved: number
  /** Reports on messages that are not ours. */
  readonly unmatched: number
  readonly failures: ReportedFailure[]
}

/** Moves locked messages on as far as the reports lead, each with its place in the timeline. */
export const settleMessages = async (
  tx: Tx,
  locked: readonly LockedMessage[],
  sightings: readonly Sighting[],
): Promise<Settled> => {
  const { matched, unmatched } = match(locked, sightings)
  const reported = [...matched.keys()]
  const again = reported.filter(mayLeaveAgain)
  const moments = again.length > 0 ? await findMoments(tx, again) : new Map<string, ReadonlySet<string>>()
  const settlements = reported.map((message): Settlement => {
    const reports = currentReports(message, matched.get(message) ?? [])
    const steps = settle(message.status, reports, moments.get(keyOf(message)))
    const providerMessageId = (steps.at(-1) ?? reports.at(-1))?.providerMessageId ?? ''
    return { message, steps, providerMessageId }
  })
  const changing = settlements.filter(({ message, steps }) => steps.length > 0 || message.providerMessageId === null)
  if (changing.length > 0) await writeSettlements(tx, changing)
  const moved = changing.reduce((sum, { steps }) => sum + steps.length, 0)
  return { moved, unmatched, failures: changing.flatMap(failureOf) }
}

const reached: readonly MessageStatus[] = ['accepted', 'sent', 'delivered', 'read', 'failed']

/** Of a message that is sent a second time the status does not tell by itself which reports are repetitions. */
const mayLeaveAgain = ({ status, formerIds }: LockedMessage): boolean =>
  formerIds.length > 0 || !reached.includes(status)

/** Of an earlier send of a message only its arrival counts: its failure, or that it was sent, says nothing of the new one. */
const currentReports = <Told extends Report>({ formerIds }: LockedMessage, reports: readonly Told[]): Told[] =>
  reports.filter(
    ({ status, providerMessageId }) =>
      !formerIds.includes(providerMessageId) || status === 'delivered' || status === 'read',
  )

/** By what we sent along first: the API's own id may not be stored yet. */
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
