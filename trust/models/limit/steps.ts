import fc from 'fast-check'
import { openRoom } from '../../../services/notifier/capabilities/account-limits/defer-for-room.ts'
import { readDueLimits } from '../../../services/notifier/capabilities/account-limits/test/portfolio-fixture.ts'
import { messageTo } from '../../../services/notifier/test/fixture.ts'
import { status } from '../../../services/notifier/test/webhooks-fixture.ts'
import { toUserId } from '../../../simulator/messages/people.ts'
import { type CreateModel, expectSame, pick, times } from '../history.ts'
import { startNotifier } from '../running-notifier.ts'

interface Message {
  name: string
  id: string
  /** Is the person by number. */
  phone: string
  /** Is the name by which the platform's limit counts the person: the number or the user id. */
  recipient: string
  status: 'queued' | 'accepted'
  attempts: number
}

interface State {
  limit: number
  phones: string[]
  /** Holds the people whose number and user id are known to belong together. */
  paired: Set<string>
  /** Holds the people who were reached today, as the notifier named them then. */
  reached: Set<string>
  /** Lists the messages, oldest first. */
  messages: Message[]
}

const number = fc.nat(1_000)

/** Sends what there is room for, the oldest message first. */
const sendDue = ({ limit, reached, messages }: State): void => {
  for (const message of messages.filter(each => each.status === 'queued')) {
    if (!reached.has(message.recipient) && reached.size >= limit) continue
    reached.add(message.recipient)
    message.status = 'accepted'
  }
}

/** Plays a portfolio that may reach few people a day: what is above its limit waits, and nothing fails. */
export const limit: CreateModel = async t => {
  const { call, control, rows, pool, api, keyring, post, webhook, settle } = await startNotifier(t)
  await rows(`update channels set waba_id = '102290129340398'`)
  let people = 0

  const sends = fc.record({ which: number, isById: fc.boolean() }).map(({ which, isById }) => ({
    text: ({ phones }: State) => `staff send to ${pick(phones, which)}, named by ${isById ? 'user id' : 'number'}`,
    run: async (state: State) => {
      const phone = pick(state.phones, which)
      const to = isById ? toUserId(phone) : `+${phone}`
      const { status, body } = await call('POST', '/api/messages', messageTo(to))
      expectSame('status', status, 202)
      const recipient = isById && !state.paired.has(phone) ? to : phone
      const made = { name: `M${state.messages.length + 1}`, id: body.data.id, phone, recipient, attempts: 0 }
      state.messages.push({ ...made, status: 'queued' })
      sendDue(state)
      await settle(state.messages)
      return state.messages.at(-1)?.status ?? ''
    },
  }))
  const pairs = number.map(which => ({
    text: ({ phones }: State) => `a status names the number and the user id of ${pick(phones, which)}`,
    run: async (state: State) => {
      const phone = pick(state.phones, which)
      state.paired.add(phone)
      for (const message of state.messages) if (message.phone === phone) message.recipient = phone
      const id = toUserId(phone)
      if (!state.reached.has(phone) && state.reached.delete(id)) state.reached.add(phone)
      await post(webhook({ statuses: [status({ recipient_id: phone, recipient_user_id: toUserId(phone) })] }))
      await settle(state.messages)
      return 'paired'
    },
  }))
  const days = fc.constant({
    text: () => 'a day passes',
    run: async (state: State) => {
      state.reached.clear()
      await rows(`update portfolio_people set reached_at = reached_at - interval '24 hours'`)
      control.behave({ portfolio_limit: state.limit })
      await openRoom(pool)
      sendDue(state)
      await settle(state.messages)
      return `${state.messages.filter(each => each.status === 'queued').length} wait`
    },
  })

  return {
    settings: fc.integer({ min: 1, max: 3 }),
    begin: async (limit: number): Promise<State> => {
      await rows(`update messages set status = 'cancelled' where status = 'queued'`)
      for (const table of ['portfolio_waiting', 'portfolio_people', 'portfolios']) await rows(`delete from ${table}`)
      await rows('update channels set portfolio_due_at = now()')
      control.behave({ portfolio_limit: limit })
      await readDueLimits({ pool, api, keyring })
      const phones = Array.from({ length: 6 }, () => `9477${4_000_000 + ++people}`)
      return { limit, phones, paired: new Set(), reached: new Set(), messages: [] }
    },
    steps: [...times(4, sends), pairs, ...times(2, days)],
    check: async ({ phones, messages }: State) => {
      const arrived = phones.flatMap(phone => control.messages({ to: phone }))
      const failed = arrived.filter(({ status }) => status === 'failed').map(({ to }) => to)
      expectSame('failed at the platform', failed, [])
      const names = new Map(messages.map(({ id, name }) => [id, name]))
      const found = arrived.map(each => names.get(each.biz_opaque_callback_data ?? '') ?? '')
      const left = messages.filter(({ status }) => status === 'accepted').map(({ name }) => name)
      expectSame('arrived', found.toSorted(), left.toSorted())
    },
  }
}
