import fc from 'fast-check'
import { messageTo } from '../../services/notifier/test/fixture.ts'
import { inbound } from '../../services/notifier/test/webhooks-fixture.ts'
import { type CreateModel, expectSame, stepsOf, stepWith, times } from './history.ts'
import { fates, runningNotifier } from './running-notifier.ts'

interface Message {
  name: string
  id: string
  holds: boolean
  status: string
  attempts: number
}

/** Times are in seconds since 1970. */
interface State {
  plan: 'free' | 'paid'
  recipient: string
  messages: Message[]
  now: number
  wroteAt: number
  outAt: number
  inAt: number
}

const isOut = ({ outAt, inAt }: State): boolean => outAt > 0 && outAt >= inAt
const isOpen = ({ wroteAt }: State): boolean => wroteAt + 86_400 > Date.now() / 1000
const mayBeSent = (state: State): boolean => state.plan === 'paid' || isOpen(state)

/** Returns the outcome of a message of staff. */
const accepted = (state: State, holds: boolean): 'refused' | 'held' | 'queued' => {
  if (isOut(state)) return 'refused'
  if (mayBeSent(state)) return 'queued'
  return holds ? 'held' : 'refused'
}
/** Returns the outcome of a message that is due. */
const due = (state: State, holds: boolean): string => {
  if (isOut(state)) return 'cancelled'
  if (mayBeSent(state)) return 'accepted'
  return holds ? 'held' : 'failed'
}

/** Texts that customers write, with their meaning. */
const words = {
  hello: undefined,
  'bus stop': undefined,
  STOP: 'out',
  'Stop!': 'out',
  START: 'in',
} as const

export const conversation: CreateModel = async t => {
  const { call, control, rows, post, webhook, settle } = await runningNotifier(t)
  let histories = 0

  const sends = stepsOf(
    fc.record({ holds: fc.boolean(), isBusy: fc.boolean() }),
    ({ holds, isBusy }, { messages }: State) =>
      `staff sends M${messages.length + 1}${holds ? ', which may wait' : ''}${isBusy ? ', and the API is busy' : ''}`,
    async (state, { holds, isBusy }) => {
      const { recipient } = state
      const expected = accepted(state, holds)
      const body = { ...messageTo(recipient), hold_until_open: holds }
      const preview = await call('POST', '/api/messages/preflight', body)
      expectSame('preview', preview.body.data[0].status, expected)
      if (isBusy && expected === 'queued') control.script({ recipient, trouble: fates.busy as (typeof fates)[string] })
      const response = await call('POST', '/api/messages', body)
      expectSame('status', response.status, expected === 'refused' ? 422 : 202)
      if (expected === 'refused') return expected
      const name = `M${state.messages.length + 1}`
      const status = expected === 'held' || isBusy ? expected : 'accepted'
      const attempts = expected === 'queued' && isBusy ? 1 : 0
      state.messages.push({ name, id: response.body.data.id, holds, status, attempts })
      await settle(state.messages)
      return status
    },
  )

  /** `isLate`: its webhook arrives after that of a newer one. */
  const writes = stepsOf(
    fc.record({ word: fc.constantFrom(...(Object.keys(words) as (keyof typeof words)[])), isLate: fc.boolean() }),
    ({ word, isLate }) => `customer writes "${word}"${isLate ? ', and it comes late' : ''}`,
    async (state: State, { word, isLate }) => {
      state.now += 10
      const at = isLate ? state.now - 15 : state.now
      const from = { from: state.recipient, timestamp: String(at), text: { body: word } }
      await post(webhook({ messages: [inbound(from)] }))
      state.wroteAt = Math.max(state.wroteAt, at)
      if (words[word] === 'out') state.outAt = Math.max(state.outAt, at)
      if (words[word] === 'in') state.inAt = Math.max(state.inAt, at)
      if (isOpen(state) && !isOut(state))
        for (const message of state.messages) if (message.status === 'held') message.status = 'accepted'
      await settle(state.messages)
      return isOut(state) ? 'opted out' : 'not opted out'
    },
  )

  const records = stepsOf(
    fc.constantFrom('out', 'in'),
    which => `staff opts the customer ${which}`,
    async (state: State, which) => {
      const { status } = await call('POST', `/api/conversations/${state.recipient}/opt-${which}`, { reason: 'phone' })
      state.now += 10
      // Moves the opt-out to the clock of this history.
      const set = `update conversations set opted_${which}_at = to_timestamp($2) where recipient = $1`
      await rows(set, [state.recipient, state.now])
      if (which === 'out') state.outAt = state.now
      else state.inAt = state.now
      return status
    },
  )

  const closes = stepsOf(
    fc.constant(25),
    hours => `${hours} hours pass`,
    async (state: State, hours) => {
      const set = `update conversations set last_inbound_at = last_inbound_at - interval '${hours} hours' where recipient = $1`
      await rows(set, [state.recipient])
      state.wroteAt -= hours * 3_600
      return 'closed'
    },
    isOpen,
  )

  const waitsNoMore = fc.nat(1_000).map(
    stepWith(
      ({ messages }: State) => messages.filter(({ status }) => status === 'queued'),
      ({ name }) => `the API is no longer busy for ${name}`,
      async (state, message) => {
        await rows('update messages set due_at = now() where message_id = $1', [message.id])
        message.status = due(state, message.holds)
        await settle(state.messages)
        return message.status
      },
    ),
  )

  return {
    settings: fc.constantFrom('free', 'paid'),
    begin: async plan => {
      control.clearScripts()
      await rows('update channels set plan = $1', [plan])
      const now = Math.floor(Date.now() / 1000) - 20_000
      const recipient = `9477${3_000_000 + ++histories}`
      return { plan, recipient, messages: [], now, wroteAt: 0, outAt: 0, inAt: 0 }
    },
    steps: [...times(3, sends), ...times(3, writes), records, closes, ...times(2, waitsNoMore)],
    check: async (state: State) => {
      const { data } = (await call('GET', `/api/conversations/${state.recipient}`)).body
      expectSame('open, opted out', [data.open, data.opted_out], [isOpen(state), isOut(state)])
      const arrived = control.messages({ to: state.recipient }).map(each => each.biz_opaque_callback_data)
      const sent = state.messages.filter(({ status }) => status === 'accepted').map(({ id }) => id)
      expectSame('arrived', arrived.toSorted(), sent.toSorted())
    },
  }
}
