import { checkSql, listFindings } from '../../services/orders/capabilities/money/ledger/check-ledger.ts'
import { findPhone, toUserId } from '../../simulator/messages/people.ts'
import type { ApiResponse } from '../../test/courier.ts'
import { readArrivals } from '../courier.ts'
import type { Bed } from './bed.ts'
import type { Evidence, GivenUp, Identity } from './evidence.ts'

/** Selects each act of riders once, and a done delivery as often as its parcel was delivered. */
const actsSql = `union all select split_part(act_id, '_', 1), split_part(act_id, '_', 2)
  from rider_acts act left join order_events event on event.tenant_id = act.tenant_id
    and event.waybill_number = act.waybill_number and status_key = 'key_13' and kind = 'deliver' and code is null
  where kind <> 'deliver' or code is not null or event_id is not null`

const ordersQueries = {
  orders: `select waybill_number as waybill, split_part(order_no, ' ', 1) as name, split_part(order_no, ' ', 2) as part,
      customer_phone as phone, cod, customer_address as address, status_key as status from orders`,
  timeline: `select waybill_number as waybill, status_key as status,
      case when actor = 'customer' then 'customer' when staff_name is null then 'merchant' else 'staff' end as by
    from order_events order by event_id`,
  edits: 'select waybill_number as waybill from order_edits order by edit_id',
  acted: 'select action_id as id, waybill_number as waybill, action, outcome from customer_actions',
  money: `select waybill_number as waybill, cod::float8 as cod from money_lines where kind = 'delivered'`,
  effects: `select split_part(order_no, ' ', 1) as name, split_part(order_no, ' ', 2) as part from orders
    union all select note, waybill_number from order_events where note <> ''
    union all select 'cancel-' || waybill_number, waybill_number from order_events
      where status_key = 'key_3' and actor is distinct from 'customer' and staff_name is null
    union all select note, 'money' from cash_handovers union all select bank_reference, 'money' from cash_deposits
    union all select bank_reference, 'money' from payout_batches where state = 'settled'
    union all select reason, waybill_number from order_edits where reason <> ''
    ${actsSql}`,
}

const selectText = (index: number): string =>
  `jsonb_path_query_first(template, '$.components[*] ? (@.type == "body").parameters[${index}].text') #>> '{}'`
const countDetails = (detail: string): string =>
  `(select count(*)::int from message_events e where e.message_id = m.message_id and e.detail = '${detail}')`
/** Returns digits of numbers; a user id stays as it is. */
const person = `ltrim(recipient, '+')`

const notifierQueries = {
  messages: `select message_id as id, waybill_number as waybill, ${person} as person, status, rule_event as event,
      joined_to as "joinedTo",
      case when template ? 'button' then split_part(template ->> 'text', e'\\n', 2) end as question,
      extract(epoch from created_at)::float8 * 1000 as "createdAt", ${countDetails('sent again by staff')} as resends,
      ${countDetails('cancelled by staff')} > 0 as "isCancelled"
    from messages m order by message_id`,
  actions: 'select action_id as id, waybill_number as waybill, action, outcome from customer_actions order by position',
  // The audit has the time of storage; `opt_outs.at` is the time of the fact.
  optOuts: `select ${person} as person, recipient like '%.%' as "isById",
      extract(epoch from a.happened_at)::float8 * 1000 as at
    from opt_outs o join audit a on a.object_id = o.opt_out_id::text and a.action = 'conversation.opted_out'`,
  effects: `select ${selectText(0)} as name, ${selectText(1)} as part from messages
      where rule_event is null and not template ? 'button'
    union all select 'drop-' || message_id, message_id from messages m where ${countDetails('cancelled by staff')} > 0
    union all select reason, ${person} from opt_outs where reason <> ''`,
}

const identities = `select user_id as person, case when recipient not like '%.%' then recipient end as "knownAs",
    case when recipient like '%.%' then 0 else
      (select count(*)::int from conversations c where c.tenant_id = i.tenant_id and c.recipient = user_id)
      + (select count(*)::int from inbound_messages m where m.tenant_id = i.tenant_id and m.recipient = user_id)
      + (select count(*)::int from messages m where m.tenant_id = i.tenant_id and m.recipient = user_id) end as left,
    exists (select from conversations c where c.tenant_id = i.tenant_id and c.recipient = i.recipient
      and c.opted_out_at >= coalesce(c.opted_in_at, '-infinity')) as "isOut"
  from identities i`

/** Finds the number of each person whom the notifier knows by user id, as only the simulator can. */
const nameByNumber = <Row extends { person: string }>(rows: Row[], numbers: readonly string[]): Row[] => {
  for (const phone of new Set(numbers)) toUserId(phone)
  return rows.map(row => ({ ...row, person: findPhone(row.person) }))
}

/** Reads the rows of each query in the shape that the evidence has. */
const readAll = async <Names extends keyof Evidence>(
  { rows }: Bed['courier'],
  service: 'orders' | 'notifier',
  queries: Record<Names, string>,
): Promise<Pick<Evidence, Names>> => {
  const read = async ([name, text]: [string, string]) => [name, await rows(service, text)]
  return Object.fromEntries(await Promise.all(Object.entries<string>(queries).map(read)))
}

const toGivenUp = ({ at, status, update }: ApiResponse['body']): GivenUp => ({
  at: Date.parse(at),
  status: typeof status === 'number' ? status : null,
  message: update.status?.biz_opaque_callback_data ?? null,
  inbound: update.message?.id ?? null,
})

/** Reads, after recovery, what was stored, what arrived at the API and what the endpoints received. */
export const readEvidence = async (
  { courier, endpoints, pauseSeconds }: Bed,
  recorded: Pick<Evidence, 'history' | 'changes' | 'presses' | 'texts' | 'stops' | 'waiting' | 'exits' | 'readyAt'>,
): Promise<Evidence> => {
  const orders = await readAll(courier, 'orders', ordersQueries)
  const notifier = await readAll(courier, 'notifier', notifierQueries)
  const arrived = await readArrivals(courier.control)
  const givenUp = await courier.control('/given-up?limit=50000')
  const known = (await courier.rows('notifier', identities)) as unknown as Identity[]
  const numbers = [
    ...orders.orders.map(({ phone }) => phone.replace('+', '')),
    ...recorded.stops.map(stop => stop.person),
    ...known.flatMap(({ knownAs }) => knownAs ?? []),
  ]
  const [ledger] = await courier.rows('orders', checkSql, ['demo'])
  return {
    ...recorded,
    ...orders,
    ...notifier,
    messages: nameByNumber(notifier.messages, numbers),
    optOuts: nameByNumber(notifier.optOuts, numbers),
    identities: nameByNumber(known, numbers),
    effects: [...orders.effects, ...notifier.effects],
    brokenLedger: listFindings(ledger as never).map(found => found.join(' ')),
    received: endpoints.flatMap(({ name: endpoint, accepted }) =>
      accepted.map(({ id, waybill, at, payload, headers }) => ({
        endpoint,
        id,
        waybill,
        at: Math.round(performance.timeOrigin + at),
        payload,
        timestamp: String(headers['webhook-timestamp']),
        signature: String(headers['webhook-signature']),
      })),
    ),
    endpoints: Object.fromEntries(endpoints.map(({ name, secret }) => [name, secret])),
    wire: arrived
      .toReversed()
      .map(({ biz_opaque_callback_data: message, to: person, accepted_at, rendered }: ApiResponse['body']) => {
        return { message, person, at: Date.parse(accepted_at), text: rendered.body }
      }),
    givenUp: givenUp.data.map(toGivenUp),
    pauseSeconds,
  }
}
