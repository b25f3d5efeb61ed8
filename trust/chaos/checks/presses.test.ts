import t from 'tap'
import { any, change, double, find, isQuestion, isUnconfirmed, remove, testChecks } from '../test/spoil.ts'
import * as presses from './presses.ts'
import * as processes from './processes.ts'

testChecks(
  t,
  { ...presses, ...processes },
  {
    pressesActOnce: {
      'a press acts twice': ({ acted }) => double(acted, any),
      'a press is stored twice': ({ actions }) => double(actions, any),
    },
    onlyPressesAct: {
      'an order is cancelled, and nobody pressed that': ({ actions }) => double(actions, any, { id: 'msg_1 1' }),
      'an address counts that nobody confirmed': ({ actions }) => change(actions, isUnconfirmed, { outcome: 'done' }),
    },
    questionsFollowTexts: {
      'a question shows a text that nobody wrote': ({ messages }) =>
        change(messages, isQuestion, { question: 'No Road' }),
      'a question shows the text of another person': ({ messages }) =>
        change(messages, isQuestion, { person: '94770000001' }),
      'a question follows no press': ({ presses, messages }) => {
        const { waybill } = find(messages, isQuestion)
        const about = new Set(messages.filter(message => message.waybill === waybill).map(({ id }) => id))
        for (const press of presses.filter(({ message }) => about.has(message)))
          presses.splice(presses.indexOf(press), 1)
      },
      'a text is asked about twice': ({ messages, actions }) => {
        const { waybill } = find(messages, isQuestion)
        double(messages, isQuestion, { id: 'msg_1' })
        double(actions, isUnconfirmed, { id: 'msg_1 0 address', waybill: waybill as string })
      },
      'a question is lost': ({ messages }) => remove(messages, isQuestion),
      'a question names another order': ({ messages, orders }) => {
        const { waybill } = find(messages, isQuestion)
        const other = find(orders, order => order.waybill !== waybill).waybill
        change(messages, isQuestion, { waybill: other })
      },
    },
    noPressIsLost: {
      'a press is lost': ({ presses }) => double(presses, any, { index: 9 }),
      'a press is lost, and one of its two webhooks was given up': ({ presses, givenUp }) => {
        double(presses, any, { index: 9, inbound: 'wamid.1', copies: 2 })
        givenUp.push({ at: 0, status: null, message: null, inbound: 'wamid.1' })
      },
      'a confirmation is lost': ({ actions }) => {
        for (const action of actions.filter(({ id }) => id.endsWith(' address'))) action.outcome = 'unconfirmed'
      },
    },
    ordersAndNotifierAgree: {
      'orders has an address that is unconfirmed': ({ actions, acted }) =>
        void acted.push({ ...find(actions, isUnconfirmed), outcome: 'done' }),
      'the outcomes differ': ({ actions }) => change(actions, any, { outcome: null }),
      'orders acts on a button that nobody pressed': ({ acted }) => double(acted, any, { id: 'msg_1 1' }),
    },
    outcomesMakeTheirMessagesOnce: {
      'an outcome makes two messages': ({ messages }) =>
        double(messages, ({ event }) => event === 'call_me.requested', { id: 'msg_1' }),
      'an outcome makes no message': ({ messages }) =>
        remove(messages, ({ event }) => event === 'change_address.asked'),
    },
    customersStepsAreTheirs: {
      'an order is cancelled twice by one press': ({ timeline }) => double(timeline, ({ by }) => by === 'customer'),
      'a step of a customer is not in the timeline': ({ timeline }) => remove(timeline, ({ by }) => by === 'customer'),
    },
    processesEndOnlyWhenAsked: {
      'a process ends by itself': ({ exits }) => double(exits, any, { by: null, status: 1, line: 'process.failed' }),
      'a process does not wait for Postgres': ({ exits }) =>
        change(exits, ({ by }) => by === null, { lastedSeconds: 20 }),
    },
    sigtermEndsWithStatusZero: {
      'SIGTERM ends a process with status 1': ({ exits }) => change(exits, ({ by }) => by === 'SIGTERM', { status: 1 }),
    },
    webhooksAreAccepted: {
      'a webhook is refused until it is given up': ({ givenUp, readyAt }) =>
        givenUp.push({ at: readyAt + 1, status: 500, message: 'msg_1', inbound: null }),
    },
  },
)
