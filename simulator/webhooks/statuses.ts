import type { Message } from '../send/message.ts'
import type { Course, StatusStep, StatusWord } from '../trouble/trouble.ts'
import type { World } from '../world.ts'
import { statusOf } from './payloads.ts'

/** How long after the status before it a status comes, in milliseconds, before the delay factor. */
const usualDelayMs: Record<StatusWord, number> = { sent: 500, delivered: 1_500, read: 8_000, failed: 1_000 }

const usualCourse: StatusStep[] = [{ status: 'sent' }, { status: 'delivered' }, { status: 'read' }]

/** Plans the statuses of an accepted message, with delays between half and one and a half of the usual. */
export const followCourse = (world: World, message: Message, course?: Course): void => {
  const { delay_factor, webhook_copies, webhook_disorder } = world.behaviour
  const steps = course?.statuses ?? usualCourse
  let at = message.acceptedAt
  const planned = steps.map(step => {
    at += Math.round(usualDelayMs[step.status] * (0.5 + Math.random()) * delay_factor)
    return { step, at }
  })
  const times = planned.map(({ at }) => at)
  if (course?.disorder ?? webhook_disorder) planned.reverse()
  const copies = course?.copies ?? webhook_copies
  for (const [index, { step, at: happensAt }] of planned.entries())
    world.clock.after((times[index] ?? at) - message.acceptedAt, () =>
      tellStatus(world, message, step, happensAt, copies),
    )
}

/** Notes the status of a message and tells the callback of its number; `at` is when it happened. */
export const tellStatus = (world: World, message: Message, step: StatusStep, at: number, copies = 1): void => {
  message.statuses.push({ status: step.status, at, code: step.status === 'failed' ? (step.code ?? 131000) : undefined })
  const status = statusOf(message, step, at, world.behaviour.served_version)
  for (let copy = 0; copy < copies; copy++) world.callback.tell(message.phoneNumberId, { field: 'messages', status })
}
