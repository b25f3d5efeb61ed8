import { createDelivery, type Delivery, type DeliveryOptions } from './delivery.ts'
import type { Update } from './payloads.ts'
import type { WebhookCounts } from './views.ts'

/** Posts of one number at a time. The real one sends concurrently, so it keeps no order (messaging-api 4.3). */
const mostAtOnce = 4
const mostWaiting = 200_000

/** Tells the owners of numbers what happened, in signed webhooks (messaging-api 4). */
export interface Callback extends Omit<Delivery, 'deliver' | 'counts'> {
  /** Takes an update; what waits together is posted together, up to the batch size of the behaviour. */
  tell(phoneNumberId: string, update: Update): void
  counts(): WebhookCounts
}

interface Queue {
  waiting: Update[]
  underWay: number
  isArmed: boolean
}

export const createCallback = (options: DeliveryOptions): Callback => {
  const delivery = createDelivery(options)
  let queues = new Map<string, Queue>()
  let overflowed = 0

  const flush = (phoneNumberId: string, queue: Queue): void => {
    queue.isArmed = false
    while (queue.waiting.length > 0 && queue.underWay < mostAtOnce) {
      const updates = queue.waiting.splice(0, options.behaviour.webhook_batch)
      queue.underWay += 1
      void delivery.deliver(phoneNumberId, updates).finally(() => {
        queue.underWay -= 1
        flush(phoneNumberId, queue)
      })
    }
  }

  const queueOf = (phoneNumberId: string): Queue => {
    const queue = queues.get(phoneNumberId) ?? { waiting: [], underWay: 0, isArmed: false }
    queues.set(phoneNumberId, queue)
    return queue
  }

  return {
    ...delivery,
    tell(phoneNumberId, update) {
      const number = options.findNumber(phoneNumberId)
      if (!number || !delivery.addressOf(number)) return
      const queue = queueOf(phoneNumberId)
      if (queue.waiting.length === mostWaiting) {
        overflowed += 1
        return
      }
      queue.waiting.push(update)
      if (queue.isArmed || queue.underWay === mostAtOnce) return
      queue.isArmed = true
      setImmediate(flush, phoneNumberId, queue)
    },
    counts() {
      const waiting = queues.values().reduce((sum, queue) => sum + queue.waiting.length, 0)
      const counts = delivery.counts()
      return { waiting, ...counts, lost: counts.lost + overflowed }
    },
    reset() {
      for (const queue of queues.values()) queue.waiting = []
      queues = new Map()
      overflowed = 0
      delivery.reset()
    },
  }
}
