import t from 'tap'
import type { Call } from '../history.ts'
import { any, change, double, find, isBatch, isKeyed, isMove, later, remove, testChecks } from '../test/spoil.ts'
import * as effects from './effects.ts'

testChecks(t, effects, {
  acknowledgedIsStored: {
    'an order is lost': ({ history, effects }) => remove(effects, ({ name }) => name === find(history, isBatch).name),
    'a move is lost': ({ history, effects }) => remove(effects, ({ name }) => name === find(history, isMove).name),
  },
  refusedIsNotStored: {
    'a 503 says that nothing was changed, and a batch is stored': ({ history }) => {
      const { name } = find(history, isBatch)
      for (const call of history.filter(call => call.name === name))
        Object.assign(call, { status: 503, code: 'unavailable', hasRetryAfter: true, ending: 'refused' })
    },
    'a move in doubt is refused at last, and is stored': ({ history }) => {
      const move = find(history, isMove)
      Object.assign(move, { status: 0, ending: 'in doubt', data: null })
      history.push({ ...move, ...later(move), status: 422, code: 'invalid', ending: 'refused' })
    },
  },
  inDoubtIsWholeOrNot: {
    'a batch in doubt is stored in part': ({ history, effects }) => {
      const { name } = find(history, isBatch)
      for (const call of history.filter(call => call.name === name)) Object.assign(call, { ending: 'in doubt' })
      remove(effects, effect => effect.name === name)
    },
  },
  nothingTwice: {
    'a batch with a key is stored twice': ({ history, effects }) =>
      double(effects, ({ name }) => name === find(history, isKeyed).name),
    'a batch was refused first, and is stored twice': ({ history, effects }) => {
      const batch = find(history, call => isBatch(call) && call.key === null)
      history.push({ ...batch, ending: 'refused', status: 503, code: 'unavailable', hasRetryAfter: true })
      double(effects, ({ name }) => name === batch.name)
    },
  },
  nothingUnasked: {
    'an order is stored that nobody sent': ({ effects }) => double(effects, any, { name: 'stranger-1' }),
  },
  oneResponseForAKey: {
    'a key gets another response': ({ history }) => double(history, isKeyed, { data: ['DM99999999'] }),
    'a key that was done is refused': ({ history }) => {
      const move = find(history, isMove)
      history.push({ ...move, ...later(move), status: 422, code: 'invalid', ending: 'refused', data: null })
    },
  },
  onlyTheErrorsOfTheDocs: {
    'a 500': ({ history }) => change(history, any, { status: 500, code: 'internal_error' }),
    'a 503 without its header': ({ history }) =>
      change(history, any, { status: 503, code: 'unavailable', hasRetryAfter: false }),
  },
  keysRunOnlyWhileTheyRun: {
    'a key runs after its response': ({ history }) => {
      const booked = find(history, isKeyed)
      history.push({ ...booked, ...later(booked), status: 409, code: 'idempotency_key_running', ending: 'refused' })
    },
    'a key runs long after a 503': ({ history }) => {
      const booked = find(history, isKeyed)
      const sentAt = booked.respondedAt + 10_001
      const running = { status: 409, code: 'idempotency_key_running', ending: 'refused' } as const
      Object.assign(booked, { status: 503, code: 'unavailable', hasRetryAfter: true, ending: 'refused' })
      history.push({ ...booked, ...running, sentAt, respondedAt: sentAt + 1 })
    },
  },
  nobodyWaitsForever: {
    'the last request with a key has no response': ({ history }) => {
      const booked = history.findLast(isKeyed) as Call
      history.push({ ...booked, ...later(booked), status: 0, ending: 'in doubt' })
    },
  },
  successesHaveTheirData: {
    'an order is found without data': ({ history }) =>
      change(history, ({ what }) => what === 'look up', { data: null }),
  },
})
