import { isStatusEvent } from '@courier/shared/contract/order-events.ts'
import { createCounter, oldest } from '@courier/shared/edge/metrics.ts'
import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import type { Capability } from '../../capability.ts'
import type { EventPoint } from '../../core/events/process.ts'
import { cappedHelp, maxCounted, selectCount } from '../../core/messages/summary.ts'
import { sealActions } from './button-token.ts'
import { deliverActions } from './deliver-actions.ts'
import { takePresses } from './presses.ts'
import { findPressedNumbers, moveAsked } from './queries.ts'

/** Finds the number on which each request was made, for the decisions about customers' requests. */
const findNumbers: EventPoint['findNumbers'] = (tx, tenant, events) => {
  const decisions = events.filter(({ type }) => !isStatusEvent(type))
  const wanted = decisions.map(({ id, type, order: { waybill_number: waybill } }) => {
    return { id, waybill, action: type.slice(0, type.lastIndexOf('.')) }
  })
  return findPressedNumbers(tx, tenant, wanted)
}

const help = 'Actions of customers by outcome; expired: orders did not respond for three days.'
const waitingActions = 'customer_actions where outcome is null'

/** Seals actions into buttons, which alone act; stores what customers press, and delivers it to orders. */
export const customerActions: Capability = {
  start: ({ pool, logger, registry, orders, points, onQueued, poll }) => {
    const onOutcome = createCounter(registry, 'customer_actions_total', 'outcome', help)
    const deliver = () => deliverActions({ pool, logger, orders, points, onQueued, onOutcome })
    const worker = poll('actions.delivery', 1, deliver)
    return {
      workers: [worker],
      onWebhooks: ({ pressed = 0, addresses = 0 }) => {
        if (addresses > 0) onQueued()
        if (pressed + addresses > 0) worker.wake()
      },
    }
  },
  webhooks: { begin: takePresses, onMoved: moveAsked },
  content: { seal: sealActions },
  events: { findNumbers },
  gauges: {
    customer_actions_waiting: [
      `Actions of customers to which orders has not responded, ${cappedHelp}`,
      selectCount(waitingActions),
    ],
    customer_actions_age_seconds: [
      'Age of the oldest such action; 0 if there is none.',
      oldest('created_at', `(select created_at from ${waitingActions} limit ${maxCounted}) waiting`),
    ],
  },
  // The row outlives its button by far, since it keeps the button from acting again.
  housekeeping: [deleteWhere('customer_actions', "created_at < now() - interval '90 days'", 'for update skip locked')],
}
