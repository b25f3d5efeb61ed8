import fc from 'fast-check'
import { messageTo } from '../../../services/notifier/test/fixture.ts'
import { change, inbound, status } from '../../../services/notifier/test/webhooks-fixture.ts'
import { type CreateModel, expectSame, stepWith, times } from '../history.ts'
import { fates, startNotifier } from '../running-notifier.ts'
import {
  changeNumber,
  find,
  isOut,
  listNames,
  type Message,
  pair,
  type State,
  send,
  toNames,
  type Word,
  write,
} from './model.ts'

const number = fc.nat(1_000)
const ways = fc.constantFrom('phone', 'id', 'both', 'id in from')

/** Writes the fields that name a person, as a webhook does. */
const nameAs = ({ names: { phone, id } }: State, by: string, [forNumber, forId]: [string, string]) => ({
  ...(by === 'phone' || by === 'both' ? { [forNumber]: phone } : by === 'id in from' ? { [forNumber]: id } : {}),
  ...(by === 'id' || by === 'both' ? { [forId]: id } : {}),
})

/** Plays what happens to one person, whom webhooks name by number, by user id, or by both. */
export const person: CreateModel = async t => {
  const { call, control, rows, post, webhook, settle } = await startNotifier(t)
  let people = 0

  const tell = async (state: State, text: string, body: string): Promise<string> => {
    await post(body)
    state.posted.push({ text, body })
    await settle(state.messages)
    return 'told'
  }
  const says = fc.record({ by: ways, word: fc.constantFrom<Word>('Hello', 'Hello', 'STOP', 'START') })
  const writes = says.map(({ by, word }) => ({
    text: () => `the person writes ${word}, named by ${by}`,
    run: (state: State) => {
      const { names, second } = state
      if (by === 'both') pair(state)
      write(find(state, by === 'phone' ? names.phone : names.id), word, ++state.second)
      const named = { from: undefined, ...nameAs(state, by, ['from', 'from_user_id']) }
      const said = inbound({ ...named, text: { body: word }, timestamp: String(second + 1) })
      return tell(state, `${word} by ${by}`, webhook({ messages: [said] }))
    },
  }))
  const prefers = fc.record({ by: ways, value: fc.constantFrom('stop', 'resume') }).map(({ by, value }) => ({
    text: () => `the person sets marketing messages to ${value}, named by ${by}`,
    run: (state: State) => {
      if (by === 'both') pair(state)
      const { marketing } = find(state, by === 'phone' ? state.names.phone : state.names.id)
      marketing[value === 'stop' ? 'out' : 'in'] = ++state.second
      const named = nameAs(state, by, ['wa_id', 'user_id'])
      const preference = { ...named, category: 'marketing_messages', value, timestamp: state.second }
      const [{ changes }] = JSON.parse(webhook({})).entry
      const entry = [change({ ...changes[0].value, user_preferences: [preference] }, 'user_preferences')]
      return tell(state, `${value} by ${by}`, JSON.stringify({ object: 'whatsapp_business_account', entry }))
    },
  }))
  const pairs = fc.constant({
    text: () => 'a status names the number and the user id',
    run: (state: State) => {
      const { phone, id } = state.names
      pair(state)
      const named = { recipient_id: phone, recipient_user_id: id, timestamp: String(++state.second) }
      return tell(state, 'the pair', webhook({ statuses: [status(named)] }))
    },
  })
  const changes = fc.constantFrom('phone' as const, 'id' as const, 'both' as const).map(by => ({
    isPossible: ({ former }: State) => former === undefined,
    text: () => `the person has a new number, named by ${by}`,
    run: (state: State) => {
      const [before, after] = [state.names, toNames(`9478${2_000_000 + people}`)]
      const system = {
        type: by === 'id' ? 'user_changed_user_id' : 'user_changed_number',
        ...(by !== 'id' && { wa_id: after.phone }),
        ...(by !== 'phone' && { user_id: after.id, previous_user_id: before.id }),
      }
      const from = by === 'id' ? { from: undefined, from_user_id: before.id } : { from: before.phone }
      const said = inbound({ ...from, type: 'system', text: undefined, system, timestamp: String(++state.second) })
      changeNumber(state, after, by)
      return tell(state, `the change by ${by}`, webhook({ messages: [said] }))
    },
  }))
  const repeats = number.map(
    stepWith(
      ({ posted }: State) => posted,
      ({ text }) => `the webhook "${text}" comes again`,
      async ({ messages }, { body }) => {
        await post(body)
        await settle(messages)
        return 'nothing'
      },
    ),
  )

  const sends = fc
    .record({ which: number, fate: fc.constantFrom('accepted', 'accepted', 'busy') })
    .map(({ which, fate }) =>
      stepWith(
        listNames,
        name => `staff send to ${name}, which will be ${fate}`,
        async (state, name) => {
          const to = find(state, name)
          const isRefused = isOut(to.all)
          if (fate === 'busy' && !isRefused) control.script({ recipient: to.phone, trouble: fates.busy as never })
          const sent = await call('POST', '/api/messages', messageTo(name.includes('.') ? name : `+${name}`))
          expectSame('status', sent.status, isRefused ? 422 : 202)
          if (isRefused) return 422
          const made = { name: `M${state.messages.length + 1}`, id: sent.body.data.id, person: to, status: 'queued' }
          const message: Message = { ...made, attempts: 0, waits: false }
          state.messages.push(message)
          send(state, message, fate as 'accepted')
          await settle(state.messages)
          return message.status
        },
      )(which),
    )
  const waits = number.map(
    stepWith(
      ({ messages }: State) => messages.filter(({ waits }) => waits),
      ({ name }) => `the wait of ${name} is over`,
      async (state, message) => {
        send(state, message, 'accepted')
        await rows('update messages set due_at = now() where message_id = $1', [message.id])
        await settle(state.messages)
        return message.status
      },
    ),
  )

  return {
    settings: fc.constant(null),
    begin: async () => {
      control.clearScripts()
      const names = toNames(`9477${3_000_000 + ++people}`)
      const second = Math.floor(Date.now() / 1000) - 10_000
      return { names, former: undefined, people: new Map(), messages: [], arrived: [], second, posted: [] }
    },
    steps: [...times(4, writes), prefers, ...times(2, pairs), changes, repeats, ...times(3, sends), ...times(2, waits)],
    check: async (state: State) => {
      for (const name of listNames(state)) {
        const { last, all, marketing, texts } = find(state, name)
        const { body } = await call('GET', `/api/conversations/${name}`)
        const { opted_out, marketing_opted_out, last_inbound_at } = body.data
        const at = last === 0 ? null : new Date(last * 1000).toISOString()
        const isStopped = isOut(all) || isOut(marketing)
        const expected = { last_inbound_at: at, opted_out: isOut(all), marketing_opted_out: isStopped }
        expectSame(name, { last_inbound_at, opted_out, marketing_opted_out }, expected)
        const thread = (await call('GET', `/api/conversations/${name}/messages?limit=100`)).body.data
        const heard = thread.filter(({ direction }: { direction: string }) => direction === 'in')
        expectSame(`what ${name} wrote`, heard.length, texts)
      }
      const byId = new Map(state.messages.map(({ id, name }) => [id, name]))
      const phones = [state.names.phone, state.former?.phone ?? '']
      const found = phones.flatMap(phone => (phone ? control.messages({ to: phone }) : []))
      const arrived = found.map(({ to, biz_opaque_callback_data: id }) => `${to} ${byId.get(id ?? '')}`)
      expectSame('arrived', arrived.toSorted(), state.arrived.toSorted())
    },
  }
}
