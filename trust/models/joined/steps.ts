import fc from 'fast-check'
import { orderEvent } from '../../../services/notifier/test/orders-stand-in.ts'
import { giveRules } from '../../../services/notifier/test/rules-of-demo.ts'
import { status as statusUpdate } from '../../../services/notifier/test/webhooks-fixture.ts'
import { toUserId } from '../../../simulator/messages/people.ts'
import { type CreateModel, expectSame, stepWith, times } from '../history.ts'
import { fates, startNotifier } from '../running-notifier.ts'

interface Parcel {
  name: string
  id: string
  waybill: string
  status: string
  attempts: number
  /** true: its message is not due yet. */
  waits: boolean
  /** Is the message that carries it: its own, or an earlier parcel's. */
  carrier: Parcel
}

interface State {
  phone: string
  parcels: Parcel[]
  /** Lists the parcels of each message that arrived. */
  arrived: string[]
  events: number
  second: number
}

const number = fc.nat(1_000)
const reports = ['sent', 'delivered', 'read'] as const
const isWaiting = ({ status }: Parcel): boolean => status === 'queued'

/** Plays parcels of one person under a rule that makes one message of those within a window. */
export const joined: CreateModel = async t => {
  const { call, control, rows, pool, deliver, post, webhook, settle } = await startNotifier(t)
  const parts = { language: 'en_US', body: ['{{count}}', '{{waybill_numbers}}'], per: 'person', within: '20m' }
  await giveRules(pool, [{ on: 'key_12', template: 'order_delivered', ...parts }])
  let people = 0

  const events = fc.constant({
    text: ({ events }: State) => `parcel P${events + 1} goes out`,
    run: async (state: State) => {
      const waybill = `${state.phone}-${++state.events}`
      const order = { waybill_number: waybill, customer_phone: `+${state.phone}`, status_key: 'key_12' }
      await deliver(orderEvent(waybill, order, 'order.status_changed'))
      const [row] = await rows('select message_id as id from messages where waybill_number = $1', [waybill])
      const made = { name: `P${state.events}`, id: row.id, waybill, status: 'queued', attempts: 0, waits: true }
      state.parcels.push(Object.assign(made as Parcel, { carrier: made }))
      await settle(state.parcels)
      return 'waits'
    },
  })
  const windows = fc.option(fc.constantFrom('refused', 'busy', 'lost'), { freq: 2, nil: 'accepted' }).map(fate => ({
    isPossible: ({ parcels }: State) => parcels.some(isWaiting),
    text: () => `the window ends; the send will be ${fate}`,
    run: async (state: State) => {
      const [first, ...others] = state.parcels.filter(isWaiting) as [Parcel, ...Parcel[]]
      const trouble = fates[fate]
      if (trouble) control.script({ recipient: state.phone, trouble })
      if (fate === 'accepted' || fate === 'lost')
        state.arrived.push([first, ...others].map(each => each.waybill).join(', '))
      const status = { accepted: 'accepted', refused: 'failed', busy: 'queued' }[fate] ?? 'unknown'
      const attempts = first.attempts + Number(fate === 'busy' || fate === 'refused')
      for (const parcel of [first, ...others]) Object.assign(parcel, { status, attempts, carrier: first })
      if (fate === 'busy') for (const parcel of [first, ...others]) parcel.carrier = parcel
      await rows('update messages set due_at = now() where message_id = $1', [first.id])
      await settle(state.parcels)
      return status
    },
  }))
  const cancels = number.map(
    stepWith(
      ({ parcels }: State) => parcels.filter(isWaiting),
      ({ name }) => `staff cancel ${name}`,
      async (state, parcel) => {
        expectSame('status', (await call('POST', `/api/messages/${parcel.id}/cancel`)).status, 200)
        parcel.status = 'cancelled'
        await settle(state.parcels)
        return 'cancelled'
      },
    ),
  )
  const tells = fc.record({ which: number, to: fc.constantFrom(...reports) }).map(({ which, to }) =>
    stepWith(
      ({ parcels }: State) =>
        parcels.filter(({ status, carrier, id }) => carrier.id === id && rank(status) !== undefined),
      ({ name }) => `a webhook reports ${to} for the message of ${name}`,
      async (state, first) => {
        const sent = control.messages({ to: state.phone }).find(each => each.biz_opaque_callback_data === first.id)
        const named = { recipient_id: undefined, recipient_user_id: toUserId(state.phone) }
        const own = { id: sent?.id, status: to, timestamp: String(state.second++), ...named }
        await post(webhook({ statuses: [statusUpdate({ ...own, biz_opaque_callback_data: first.id })] }))
        const isForward = (rank(to) ?? 0) > (rank(first.status) ?? 0)
        if (isForward) for (const each of state.parcels) if (each.carrier === first) each.status = to
        await settle(state.parcels)
        return first.status
      },
    )(which),
  )

  return {
    settings: fc.constant(null),
    begin: async (): Promise<State> => {
      control.clearScripts()
      const second = Math.floor(Date.now() / 1000) - 10_000
      return { phone: `9477${5_000_000 + ++people}`, parcels: [], arrived: [], events: 0, second }
    },
    steps: [...times(4, events), ...times(2, windows), cancels, ...times(2, tells)],
    check: async ({ phone, parcels, arrived }: State) => {
      const texts = control.messages({ to: phone }).toReversed()
      const found = texts.map(({ rendered }) => /parcel (.*) was delivered/.exec(rendered.body)?.[1] ?? rendered.body)
      expectSame('arrived', found, arrived)
      for (const { name, waybill, status } of parcels) {
        const { data } = (await call('GET', `/api/messages?waybill_number=${waybill}`)).body
        expectSame(
          name,
          data.map((each: { status: string }) => each.status),
          [status],
        )
      }
    },
  }
}

const rank = (status: string): number | undefined =>
  ({ unknown: 0, accepted: 1, sent: 2, delivered: 3, read: 4 })[status]
