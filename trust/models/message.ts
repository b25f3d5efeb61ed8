import { inTenant } from '@courier/shared/postgres/database.ts'
import fc from 'fast-check'
import type { Tx } from '../../services/notifier/database/tables.ts'
import { sweep } from '../../services/notifier/sending/sweep.ts'
import { messageTo } from '../../services/notifier/test/fixture.ts'
import { status as statusUpdate } from '../../services/notifier/test/webhooks-fixture.ts'
import { type CreateModel, expectSame, pick, type Step } from './history.ts'
import { fates, runningNotifier } from './running-notifier.ts'

const reports = ['sent', 'delivered', 'read', 'failed'] as const
type Reported = (typeof reports)[number]

interface Message {
  name: string
  id: string
  waybill: string | null
  status: string
  attempts: number
  /** Refused for now: not due before its wait is over. */
  waits: boolean
  /** Unknown for ten minutes. */
  isGivenUp: boolean
  wasSentAgain: boolean
  /** Sends that took effect, and whether the notifier has learned their ids; the last one is its own unless it was resent since. */
  sends: { isKnown: boolean; isFormer: boolean }[]
}

interface State {
  resends: boolean
  recipient: string
  messages: Message[]
  /** Of the next sends. */
  fates: string[]
  /** The names of the messages that arrived, in this order. */
  arrived: string[]
  /** Each report in another second. */
  second: number
  reported: { text: string; body: string }[]
}

const rank: Record<string, number> = { accepted: 1, sent: 2, delivered: 3, read: 4 }
/** docs/messaging-api.md#status-events. */
const isForward = (from: string, to: Reported): boolean => {
  if (to === 'failed') return from !== 'failed' && (rank[from] ?? 0) < 3
  return from === 'failed' ? to !== 'sent' : (rank[to] ?? 0) > (rank[from] ?? 0)
}

/** A later message about its waybill waits for it. */
const holdsBack = ({ status, isGivenUp }: Message): boolean =>
  status === 'queued' || (status === 'unknown' && !isGivenUp)
/** Sends what may be sent now: of a waybill the oldest one first. */
const sendDue = (state: State): void => {
  for (const [index, message] of state.messages.entries()) {
    const { waybill, status, waits } = message
    const isLater = state.messages.slice(0, index).some(other => other.waybill === waybill && holdsBack(other))
    if (status === 'queued' && !waits && (waybill === null || !isLater)) send(state, message)
  }
}
const send = (state: State, message: Message): void => {
  const fate = state.fates.shift() ?? 'accepted'
  if (fate === 'accepted' || fate === 'lost') {
    state.arrived.push(message.name)
    message.sends.push({ isKnown: fate === 'accepted', isFormer: false })
  }
  if (fate === 'busy' && message.attempts < 7) message.waits = true
  else message.status = { accepted: 'accepted', refused: 'failed', busy: 'failed' }[fate] ?? 'unknown'
  if (fate === 'busy' || fate === 'refused') message.attempts++
}
const queueAgain = (message: Message): void => {
  for (const sent of message.sends) sent.isFormer = true
  Object.assign(message, { status: 'queued', waits: false, isGivenUp: false })
}

const number = fc.nat(1_000)

export const message: CreateModel = async t => {
  const { call, pool, control, rows, post, webhook, ...notifier } = await runningNotifier(t)
  let histories = 0
  const settle = async (state: State): Promise<void> => {
    sendDue(state)
    await notifier.settle(state.messages)
  }

  const accepts = fc
    .record({
      waybill: fc.constantFrom('W1', 'W2', null),
      next: fc.option(fc.constantFrom(...Object.keys(fates)), { freq: 3 }),
    })
    .map(
      ({ waybill, next }): Step<State> => ({
        text: ({ messages }) =>
          `staff sends M${messages.length + 1} about ${waybill ?? 'nothing'}${next ? `; the next send will be ${next}` : ''}`,
        run: async state => {
          if (next) {
            control.script({ recipient: state.recipient, trouble: fates[next] as (typeof fates)[string] })
            state.fates.push(next)
          }
          const about = waybill && { waybill_number: `${state.recipient}-${waybill}` }
          const { status, body } = await call('POST', '/api/messages', { ...messageTo(state.recipient), ...about })
          expectSame('status', status, 202)
          const made = {
            name: `M${state.messages.length + 1}`,
            id: body.data.id,
            waybill,
            status: 'queued',
            attempts: 0,
          }
          state.messages.push({ ...made, waits: false, isGivenUp: false, wasSentAgain: false, sends: [] })
          await settle(state)
          return state.messages.at(-1)?.status ?? ''
        },
      }),
    )

  /** Something that happens to one of some messages. */
  const happens = (
    text: string,
    applies: (message: Message) => boolean,
    run: (state: State, message: Message) => Promise<unknown>,
  ) =>
    number.map((which): Step<State> => {
      const chosen = ({ messages }: State): Message => pick(messages.filter(applies), which)
      return {
        isPossible: ({ messages }) => messages.some(applies),
        text: state => text.replace('$', chosen(state).name),
        run: async state => {
          const message = chosen(state)
          await run(state, message)
          await settle(state)
          return message.status
        },
      }
    })
  const waits = happens(
    'the wait of $ is over',
    ({ status, waits }) => status === 'queued' && waits,
    async (_, message) => {
      message.waits = false
      await rows('update messages set due_at = now() where message_id = $1', [message.id])
    },
  )
  const isGivenUp = happens(
    'ten minutes pass for $',
    ({ status }) => status === 'unknown',
    async ({ resends }, message) => {
      await rows('update messages set due_at = now() where message_id = $1 and due_at <> $2', [message.id, 'infinity'])
      await sweep(pool)
      message.isGivenUp = true
      if (!resends || message.wasSentAgain) return
      queueAgain(message)
      message.wasSentAgain = true
    },
  )
  const expires = happens(
    '24 hours pass for $',
    ({ status }) => status === 'queued',
    async (_, message) => {
      await rows('update messages set expires_at = now() where message_id = $1', [message.id])
      await sweep(pool)
      message.status = 'expired'
    },
  )
  const cancels = happens(
    'staff cancels $',
    () => true,
    async (_, message) => {
      const { status } = await call('POST', `/api/messages/${message.id}/cancel`)
      const isLegal = message.status === 'queued'
      expectSame('status', status < 300, isLegal)
      if (isLegal) message.status = 'cancelled'
    },
  )
  const resends = happens(
    'staff sends $ again',
    () => true,
    async (_, message) => {
      const { status } = await call('POST', `/api/messages/${message.id}/resend`)
      const isLegal = message.status === 'failed' || (message.status === 'unknown' && message.isGivenUp)
      expectSame('status', status < 300, isLegal)
      if (!isLegal) return
      queueAgain(message)
      message.attempts = 0
    },
  )

  /** Not of an earlier send whose id was never learned, before there is another: nobody can tell them apart. */
  const reportable = ({ messages }: State): { message: Message; nth: number }[] =>
    messages.flatMap(message =>
      message.sends.flatMap(({ isFormer, isKnown }, nth) =>
        isFormer && !isKnown && message.sends.every(sent => sent.isFormer) ? [] : [{ message, nth }],
      ),
    )
  const reportsOf = fc.record({ which: number, to: fc.constantFrom(...reports) }).map(
    ({ which, to }): Step<State> => ({
      isPossible: state => reportable(state).length > 0,
      text: state => {
        const { message, nth } = pick(reportable(state), which)
        return `a webhook reports send ${nth + 1} of ${message.name} ${to}`
      },
      run: async state => {
        const { message, nth } = pick(reportable(state), which)
        const sent = message.sends[nth] as Message['sends'][number]
        const arrived = control
          .messages({ to: state.recipient })
          .filter(each => each.biz_opaque_callback_data === message.id)
        const timestamp = String(state.second++)
        const errors = to === 'failed' ? { errors: [{ code: 131026, title: 'no' }] } : {}
        const update = statusUpdate({
          id: arrived.toReversed()[nth]?.id,
          status: to,
          timestamp,
          recipient_id: state.recipient,
          biz_opaque_callback_data: message.id,
          ...errors,
        })
        const body = webhook({ statuses: [update] })
        await post(body)
        state.reported.push({ text: `${to} of ${message.name}`, body })
        const counts = !sent.isFormer || to === 'delivered' || to === 'read'
        if (counts && isForward(message.status, to)) Object.assign(message, { status: to, waits: false })
        if (!sent.isFormer) sent.isKnown = true
        await settle(state)
        return message.status
      },
    }),
  )
  const repeats = number.map(
    (which): Step<State> => ({
      isPossible: ({ reported }) => reported.length > 0,
      text: ({ reported }) => `the webhook "${pick(reported, which).text}" comes again`,
      run: async state => {
        await post(pick(state.reported, which).body)
        await settle(state)
        return 'nothing'
      },
    }),
  )

  return {
    settings: fc.record({ resends: fc.boolean() }),
    begin: async ({ resends }) => {
      await inTenant(pool, 'demo', (tx: Tx) =>
        tx.updateTable('tenants').set({ resends_unknown: resends }).where('tenant_id', '=', 'demo').execute(),
      )
      control.clearScripts()
      const recipient = `9477${2_000_000 + ++histories}`
      const second = Math.floor(Date.now() / 1000) - 10_000
      return { resends, recipient, messages: [], fates: [], arrived: [], second, reported: [] }
    },
    steps: [
      accepts,
      accepts,
      accepts,
      waits,
      waits,
      isGivenUp,
      expires,
      cancels,
      resends,
      resends,
      reportsOf,
      reportsOf,
      repeats,
    ],
    check: async ({ recipient, messages, arrived }: State) => {
      const names = new Map(messages.map(({ id, name }) => [id, name]))
      const seen = control.messages({ to: recipient }).toReversed()
      expectSame(
        'arrived',
        seen.map(each => names.get(each.biz_opaque_callback_data ?? '')),
        arrived,
      )
    },
    end: async ({ messages }: State) => {
      for (const { name, id, status } of messages) {
        const { data } = (await call('GET', `/api/messages/${id}`)).body
        expectSame(`${name} and the end of its timeline`, [data.status, data.timeline.at(-1)?.status], [status, status])
      }
    },
  }
}
