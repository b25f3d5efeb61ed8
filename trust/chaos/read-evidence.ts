import { checkSql, listFindings } from '../../services/orders/money/check-ledger.ts'
import type { ApiResponse } from '../../test/courier.ts'
import { readArrivals } from '../courier.ts'
import type { Bed } from './bed.ts'
import type { Effect, Evidence, GivenUp } from './evidence.ts'

type Rows = Record<string, unknown>[]

const ofOrders = {
  orders: `select waybill_number as waybill, split_part(order_no, ' ', 1) as name, split_part(order_no, ' ', 2) as part,
      customer_phone as phone, cod, customer_address as address, status_key as status from orders`,
  timeline: `select waybill_number as waybill, status_key as status,
      case when actor = 'customer' then 'customer' when staff_name is null then 'merchant' else 'staff' end as by, note
    from order_events order by event_id`,
  edits: 'select waybill_number as waybill, reason from order_edits order by edit_id',
  acted: 'select action_id as id, waybill_number as waybill, action, outcome from customer_actions',
  money: `select waybill_number as waybill, cod::float8 as cod from money_lines where kind = 'delivered'`,
  paid: `select note as name from cash_handovers union all select bank_reference from cash_deposits
    union all select bank_reference from invoices where state = 'deposited'`,
}

const textOf = (place: number): string =>
  `jsonb_path_query_first(template, '$.components[*] ? (@.type == "body").parameters[${place}].text') #>> '{}'`
const happened = (detail: string): string =>
  `(select count(*)::int from message_events e where e.message_id = m.message_id and e.detail = '${detail}')`

const ofNotifier = {
  messages: `select message_id as id, waybill_number as waybill, recipient as person, status, rule_event as event,
      case when template ? 'button' then split_part(template ->> 'text', e'\\n', 2) end as question,
      extract(epoch from created_at)::float8 * 1000 as "createdAt", ${happened('sent again by staff')} as resends,
      ${happened('cancelled by staff')} > 0 as "isCancelled", ${textOf(0)} as name, ${textOf(1)} as part
    from messages m order by message_id`,
  actions: 'select action_id as id, waybill_number as waybill, action, outcome from customer_actions order by position',
  // The audit has the time of storage; `at` is the time of the fact.
  optOuts: `select recipient as person, reason, extract(epoch from a.happened_at)::float8 * 1000 as at
    from opt_outs o join audit a on a.object_id = o.opt_out_id::text and a.action = 'conversation.opted_out'`,
}

const readAll = async <Names extends string>(
  read: (text: string) => Promise<Rows>,
  queries: Record<Names, string>,
): Promise<Record<Names, Rows>> => {
  const found = await Promise.all(Object.entries<string>(queries).map(async ([name, text]) => [name, await read(text)]))
  return Object.fromEntries(found)
}

const digits = (text: unknown): string => String(text).replace(/\D/g, '')

const toGivenUp = ({ at, status, update }: ApiResponse['body']): GivenUp => ({
  at: Date.parse(at),
  status: typeof status === 'number' ? status : null,
  message: update.status?.biz_opaque_callback_data ?? null,
  inbound: update.message?.id ?? null,
})

/** Reads everything stored, on the wire and received, after recovery. */
export const readEvidence = async (
  { courier, endpoints, pauseSeconds }: Bed,
  recorded: Pick<Evidence, 'history' | 'changes' | 'presses' | 'texts' | 'stops' | 'waiting' | 'exits' | 'readyAt'>,
): Promise<Evidence> => {
  const { rows, control } = courier
  const orders = await readAll(text => rows('orders', text), ofOrders)
  const notifier = await readAll(text => rows('notifier', text), ofNotifier)
  const data = await readArrivals(control)
  const givenUp = await control('/given-up?limit=50000')
  const [ledger] = await rows('orders', checkSql, ['demo'])
  const { timeline, edits } = orders
  const { messages, optOuts } = notifier
  const effect = (name: unknown, part: unknown): Effect => ({ name: String(name), part: String(part) })
  const effects = [
    ...orders.orders.map(({ name, part }) => effect(name, part)),
    ...timeline.filter(({ note }) => note).map(({ note, waybill }) => effect(note, waybill)),
    ...timeline
      .filter(({ by, status }) => by === 'merchant' && status === 'key_3')
      .map(({ waybill }) => effect(`cancel-${waybill}`, waybill)),
    ...orders.paid.map(({ name }) => effect(name, 'money')),
    ...edits.filter(({ reason }) => reason).map(({ reason, waybill }) => effect(reason, waybill)),
    ...messages
      .filter(({ event, question }) => event === null && question === null)
      .map(({ name, part }) => effect(name, part)),
    ...messages.filter(({ isCancelled }) => isCancelled).map(({ id }) => effect(`drop-${id}`, id)),
    ...optOuts.filter(({ reason }) => reason).map(({ reason, person }) => effect(reason, digits(person))),
  ]
  return {
    ...recorded,
    effects,
    orders: orders.orders as never,
    timeline: timeline as never,
    edits: edits as never,
    acted: orders.acted as never,
    money: orders.money as never,
    brokenLedger: listFindings(ledger as never).map(found => found.join(' ')),
    received: endpoints.names.flatMap((endpoint, n) =>
      (endpoints.receivers[n]?.accepted ?? []).map(({ id, waybill, at, payload, headers }) => ({
        endpoint,
        id,
        waybill,
        at: Math.round(performance.timeOrigin + at),
        payload,
        timestamp: String(headers['webhook-timestamp']),
        signature: String(headers['webhook-signature']),
      })),
    ),
    endpoints: Object.fromEntries(endpoints.names.map((name, n) => [name, endpoints.receivers[n]?.secret ?? ''])),
    messages: messages.map(message => ({ ...message, person: digits(message.person) })) as never,
    wire: data
      .toReversed()
      .map(({ biz_opaque_callback_data: message, to: person, accepted_at }: ApiResponse['body']) => {
        return { message, person, at: Date.parse(accepted_at) }
      }),
    actions: notifier.actions as never,
    optOuts: optOuts.map(({ person, at }) => ({ person: digits(person), at: Number(at) })),
    givenUp: givenUp.data.map(toGivenUp),
    pauseSeconds,
  }
}
