import { inTenant } from '@courier/shared/postgres/database.ts'
import fc from 'fast-check'
import type { Tx } from '../../../services/notifier/core/database/tables.ts'
import { sweep } from '../../../services/notifier/core/sending/sweep.ts'
import { messageTo } from '../../../services/notifier/test/fixture.ts'
import { status as statusUpdate } from '../../../services/notifier/test/webhooks-fixture.ts'
import { type CreateModel, expectSame, stepWith, times } from '../history.ts'
import { fates, startNotifier } from '../running-notifier.ts'
import {
  accept,
  giveUp,
  type Message,
  mayResend,
  report,
  reportable,
  reports,
  resend,
  type State,
  sendDue,
} from './model.ts'

const number = fc.nat(1_000)

export const message: CreateModel = async t => {
  const { call, pool, control, rows, post, webhook, ...notifier } = await startNotifier(t)
  let histories = 0
  const settle = async (state: State): Promise<void> => {
    sendDue(state)
    await notifier.settle(state.messages)
  }

  const sends = fc.record({
    waybill: fc.constantFrom('W1', 'W2', null),
    next: fc.option(fc.constantFrom(...Object.keys(fates)), { freq: 3 }),
  })
  const accepts = sends.map(({ waybill, next }) => ({
    text: ({ messages }: State) => {
      const fate = next ? `; the next send will be ${next}` : ''
      return `staff send M${messages.length + 1} about ${waybill ?? 'nothing'}${fate}`
    },
    run: async (state: State) => {
      if (next) {
        control.script({ recipient: state.recipient, trouble: fates[next] as (typeof fates)[string] })
        state.fates.push(next)
      }
      const about = waybill && { waybill_number: `${state.recipient}-${waybill}` }
      const { status, body } = await call('POST', '/api/messages', { ...messageTo(state.recipient), ...about })
      expectSame('status', status, 202)
      accept(state, body.data.id, waybill)
      await settle(state)
      return state.messages.at(-1)?.status ?? ''
    },
  }))

  /** Creates steps that each happen to one of the messages to which they apply. */
  const happens = (
    text: string,
    applies: (message: Message) => boolean,
    run: (state: State, message: Message) => Promise<unknown>,
  ) =>
    number.map(
      stepWith(
        ({ messages }: State) => messages.filter(applies),
        ({ name }) => text.replace('$', name),
        async (state, message) => {
          await run(state, message)
          await settle(state)
          return message.status
        },
      ),
    )
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
    async (state, message) => {
      await rows('update messages set due_at = now() where message_id = $1 and due_at <> $2', [message.id, 'infinity'])
      await sweep(pool)
      giveUp(state, message)
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
    'staff cancel $',
    () => true,
    async (_, message) => {
      const { status } = await call('POST', `/api/messages/${message.id}/cancel`)
      const isLegal = message.status === 'queued'
      expectSame('status', status, isLegal || message.status === 'cancelled' ? 200 : 422)
      if (isLegal) message.status = 'cancelled'
    },
  )
  const resends = happens(
    'staff resend $',
    () => true,
    async (_, message) => {
      const { status } = await call('POST', `/api/messages/${message.id}/resend`)
      expectSame('status', status, mayResend(message) || message.status === 'queued' ? 200 : 422)
      if (mayResend(message)) resend(message)
    },
  )

  const webhooks = fc.record({ which: number, to: fc.constantFrom(...reports) }).map(({ which, to }) =>
    stepWith(
      reportable,
      ({ message, nth }) => `a webhook reports ${to} for send ${nth + 1} of ${message.name}`,
      async (state, { message, sent, nth }) => {
        const arrived = control.messages({ to: state.recipient })
        const sends = arrived.filter(each => each.biz_opaque_callback_data === message.id).toReversed()
        const update = statusUpdate({
          id: sends[nth]?.id,
          status: to,
          timestamp: String(state.second++),
          recipient_id: state.recipient,
          biz_opaque_callback_data: message.id,
          ...(to === 'failed' && { errors: [{ code: 131026, title: 'no' }] }),
        })
        const body = webhook({ statuses: [update] })
        await post(body)
        state.reported.push({ text: `${to} of ${message.name}`, body })
        report(message, sent, to)
        await settle(state)
        return message.status
      },
    )(which),
  )
  const repeats = number.map(
    stepWith(
      ({ reported }: State) => reported,
      ({ text }) => `the webhook "${text}" comes again`,
      async (state, { body }) => {
        await post(body)
        await settle(state)
        return 'nothing'
      },
    ),
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
      ...times(3, accepts),
      ...times(2, waits),
      isGivenUp,
      expires,
      cancels,
      ...times(2, resends),
      ...times(2, webhooks),
      repeats,
    ],
    check: async ({ recipient, messages, arrived }: State) => {
      const names = new Map(messages.map(({ id, name }) => [id, name]))
      const seen = control.messages({ to: recipient }).toReversed()
      const found = seen.map(each => names.get(each.biz_opaque_callback_data ?? ''))
      expectSame('arrived', found, arrived)
    },
    end: async ({ messages }: State) => {
      for (const { name, id, status } of messages) {
        const { data } = (await call('GET', `/api/messages/${id}`)).body
        expectSame(`${name} and the end of its timeline`, [data.status, data.timeline.at(-1)?.status], [status, status])
      }
    },
  }
}
