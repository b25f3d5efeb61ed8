import {
  type CourierEvent,
  type CourierEvents,
  editedEvent,
  isOrderEvent,
  type OrderEvent,
  takenBackEvent,
} from '@courier/shared/contract/order-events.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { findChannels, findTenant, lockConversations } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { type Company, readContext } from '../messages/accept.ts'
import { checkMessage, type SendingContext } from '../messages/check.ts'
import { lockForEdits } from '../messages/edits.ts'
import { expiryHours } from '../messages/expiry.ts'
import { insertMessages, type NewMessage, newMessageIds } from '../messages/insert.ts'
import type { MessageRequest } from '../messages/schema.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import { cancelUntrue, remakeMessages, supersedeMessages, type TakenBack } from './change-waiting.ts'
import {
  type EventError,
  findRules,
  insertEvents,
  learnTimeZone,
  type Rule,
  readSubject,
  storeEventErrors,
} from './queries.ts'
import { fires, makeMessage, type TenantHours } from './rules.ts'

/** Takes part in processing new events, in their transaction. */
export interface EventPoint {
  /** Finds the numbers that messages about some of these events leave from, by event id. */
  readonly findNumbers?: (tx: Tx, tenant: string, events: readonly OrderEvent[]) => Promise<ReadonlyMap<string, string>>
  /** Runs once messages are queued. `first` lists their waybills, each with the first message of its event. */
  readonly onQueued?: (
    tx: Tx,
    tenant: string,
    rules: readonly Rule[],
    first: readonly { readonly waybill: string; readonly before: string }[],
  ) => Promise<unknown>
}

/** `failed`: a message that a rule requires cannot be sent; `expired`: the event's messages would come too late. */
export const eventOutcomes = ['queued', 'failed', 'no_rule', 'edited', 'expired', 'repeated'] as const
export type EventOutcome = (typeof eventOutcomes)[number]

type Processed = Readonly<Record<EventOutcome, number>>

/**
 * Processes each event once and queues the messages of the tenant's rules in order; all are committed when it returns.
 * Stores an unsendable message with its reason, for staff. Messages of events from before a restore become unknown.
 * Returns undefined for an unknown tenant, and then stores nothing.
 */
export const processEvents = (
  pool: pg.Pool,
  { tenant, events }: CourierEvents,
  points: readonly EventPoint[] = [],
): Promise<Processed | undefined> => inTenant(pool, tenant, (tx: Tx) => processIn(tx, tenant, events, points))

/** Processes events within a transaction. `numbers` gives the number to reply from by event id, where it is known. */
export const processIn = async (
  tx: Tx,
  tenant: string,
  events: readonly CourierEvent[],
  points: readonly EventPoint[],
  numbers?: ReadonlyMap<string, string>,
): Promise<Processed | undefined> => {
  if (events.some(({ type }) => type === editedEvent)) await lockForEdits(tx, tenant)
  const unique = events.filter((event, index) => events.findIndex(({ id }) => id === event.id) === index)
  const [known, newIds, rules, channels] = await Promise.all([
    findTenant(tx, tenant),
    insertEvents(tx, tenant, unique),
    findRules(tx, tenant),
    findChannels(tx, tenant),
  ])
  if (!known) return undefined
  const isInDoubt = (event: CourierEvent): boolean =>
    known.in_doubt_before !== null && new Date(event.happened_at) < known.in_doubt_before
  const accepted = unique.filter(({ id }) => newIds.has(id))
  const edits = accepted.filter(isOrderEvent).filter(({ type }) => type === editedEvent)
  const fresh = accepted.filter(({ type }) => type !== editedEvent)
  const timely = fresh.filter(event => isTimely(event, known.now) || isInDoubt(event))
  const hours = { between: known.send_between, timeZone: await learnTimeZone(tx, tenant, known.time_zone, events) }
  const timelyOrders = timely.filter(isOrderEvent)
  const pressedOn = numbers ?? (await findNumbers(tx, tenant, timelyOrders, points))
  const wanted = applyRules(rules, timely, hours, pressedOn)
  const company = { settings: { ...known, time_zone: hours.timeZone }, channels }
  const { failed, ids } = await queue(tx, tenant, company, wanted, isInDoubt)
  const first = listFirst(wanted, ids)
  for (const { onQueued } of points) await onQueued?.(tx, tenant, rules, first)
  await remakeMessages(tx, tenant, edits)
  await cancelUntrue(tx, tenant, listTakenBack(fresh, wanted, ids))
  const matched = new Set(wanted.map(({ event }) => event.id))
  return {
    queued: matched.size - failed.size,
    failed: failed.size,
    no_rule: timely.length - matched.size,
    edited: edits.length,
    expired: fresh.length - timely.length,
    repeated: events.length - fresh.length - edits.length,
  }
}

const isTimely = ({ happened_at }: CourierEvent, now: Date): boolean =>
  now.getTime() - Date.parse(happened_at) < expiryHours * 3_600_000

const findNumbers = async (tx: Tx, tenant: string, events: readonly OrderEvent[], points: readonly EventPoint[]) => {
  const found = await Promise.all(points.map(point => point.findNumbers?.(tx, tenant, events)))
  return new Map(found.flatMap(numbers => [...(numbers ?? [])]))
}

interface WantedMessage {
  readonly rule: Rule
  readonly event: CourierEvent
  readonly request: MessageRequest
}

const applyRules = (
  rules: readonly Rule[],
  events: readonly CourierEvent[],
  hours: TenantHours,
  numbers: ReadonlyMap<string, string>,
): WantedMessage[] =>
  events.flatMap((event): WantedMessage[] =>
    rules
      .filter(rule => fires(rule, event))
      .map(rule => ({ rule, event, request: makeMessage(rule, event, hours, numbers.get(event.id)) })),
  )

/** One statement with all messages could exceed the statement timeout. */
const maxPerStatement = 1000

/** Queues what can be sent and stores the errors of the rest; returns the events with errors, and the messages' ids. */
const queue = async (
  tx: Tx,
  tenant: string,
  company: Company,
  wanted: readonly WantedMessage[],
  isInDoubt: (event: CourierEvent) => boolean,
): Promise<{ failed: ReadonlySet<string>; ids: readonly string[] }> => {
  if (wanted.length === 0) return { failed: new Set(), ids: [] }
  const requests = wanted.map(({ request }) => request)
  const context = trustPlatform(await readContext(tx, tenant, requests, lockConversations, company))
  const ids = newMessageIds(wanted.length, context.now)
  const messages: NewMessage[] = []
  const errors = new Map<string, EventError[]>()
  const failed = new Set<string>()
  for (const [index, { rule, event, request }] of wanted.entries()) {
    const checked = check(request, context, rule.paused_reason)
    if (checked.kind === 'error' || checked.failure !== undefined) failed.add(event.id)
    if (checked.kind === 'message')
      messages.push({
        id: ids[index] as string,
        ...checked,
        rule,
        merchant: readSubject(event).merchant_name,
        isInDoubt: isInDoubt(event),
        traceparent: event.traceparent,
      })
    else errors.set(event.id, [...(errors.get(event.id) ?? []), checked.error])
  }
  for (let start = 0; start < messages.length; start += maxPerStatement)
    await insertMessages(tx, tenant, messages.slice(start, start + maxPerStatement))
  await supersedeMessages(tx, tenant, listSuperseding(wanted, ids))
  await storeEventErrors(tx, tenant, errors)
  return { failed, ids }
}

/** Skips the check of a template that is held, or not approved here: the catalogue may be out of date. */
const trustPlatform = (context: SendingContext): SendingContext => ({
  ...context,
  templateErrors: (channel, template) => {
    const known = context.catalogued(channel, template)
    return known?.status === 'APPROVED' && !known.heldAt ? context.templateErrors(channel, template) : {}
  },
})

/** Lists the parcel of each message, with the first message of its event. */
const listFirst = (wanted: readonly WantedMessage[], ids: readonly string[]) => {
  const first = new Map(wanted.map(({ event }, index) => [event, ids[index] as string] as const).toReversed())
  return wanted.map(({ rule, event }) => {
    const [waybill, before] = [readSubject(event).waybill_number ?? '', first.get(event) as string]
    return { waybill, before, events: rule.supersedes, by: rule.event }
  })
}

/** Returns the messages that the events supersede: those before the event's own first message. */
const listSuperseding = (wanted: readonly WantedMessage[], ids: readonly string[]) =>
  listFirst(wanted, ids).filter(({ waybill, events }) => waybill !== '' && events.length > 0)

/**
 * Lists the moves taken back, however late their events are, each with the first message of a later event: that message
 * and later ones stay.
 */
const listTakenBack = (
  events: readonly CourierEvent[],
  wanted: readonly WantedMessage[],
  ids: readonly string[],
): TakenBack[] => {
  const positions = new Map(events.map((event, position) => [event, position]))
  return events.flatMap((event, position) => {
    if (!isOrderEvent(event) || event.type !== takenBackEvent) return []
    const next = wanted.findIndex(({ event: other }) => (positions.get(other) ?? 0) > position)
    return { order: event.order, before: ids[next] }
  })
}

type Checked = ({ kind: 'message' } & Omit<NewMessage, 'id'>) | { kind: 'error'; error: EventError }

/** Returns an unsendable message with its failure if its recipient and number are known, else an error of the event. */
const check = (request: MessageRequest, context: SendingContext, pausedReason: string | null): Checked => {
  const result = checkMessage(request, context)
  if (result.kind === 'checked') return { kind: 'message', message: result.message, failure: pausedReason ?? undefined }
  const { errors, message } = result
  // A resend starts from the message as the rule wants it.
  if (message) {
    const failure = Object.values(errors).flat().join(' ')
    return { kind: 'message', message: { ...message, sendAt: null, waitsFor: null }, failure }
  }
  const noChannel = request.channel ? `There is no channel ${request.channel}.` : 'There is no default channel.'
  const detail = errors.channel
    ? noChannel
    : `The ${request.waybill_number ? 'customer' : 'merchant'}'s phone is not a phone number.`
  return { kind: 'error', error: { template: isPlain(request.template) ? null : request.template.name, detail } }
}
