import { invalid } from '@courier/shared/errors/errors.ts'
import { required, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import type { PhoneNumber } from '../accounts/account.ts'
import { listButtons } from '../accounts/template.ts'
import type { Behaviour } from '../basics/behaviour.ts'
import { type Message, type MessageFilter, viewMessage } from '../messages/message.ts'
import type { Outage, Script } from '../trouble/trouble.ts'
import { reportEvent } from '../world/events.ts'
import { receive, reportStatus } from '../world/report.ts'
import { cutHanging, type World } from '../world/world.ts'
import type { FieldChange, Inbound, PersonEvent, Press, StatusReport } from './bodies.ts'

/** Creates the actions of the control routes, which a test in the same process may run directly. */
export const createControl = (world: World) => ({
  summary: () => summarize(world),
  /** Applies the changes; omitted fields keep their values. */
  behave: (change: Partial<Behaviour>): Behaviour => {
    if (change.portfolio_limit !== undefined) world.reached.clear()
    return Object.assign(world.behaviour, change)
  },
  putNumber: world.accounts.putNumber,
  putToken: world.accounts.putToken,
  messages: ({ to, limit, ...filter }: MessageFilter & { limit?: number } = {}) =>
    takeFirst(world.messages.list({ ...filter, to: to?.replace(/\D/g, '') }), limit).map(viewMessage),
  inbox: (limit?: number) => takeFirst(world.inbox.newestFirst(), limit),
  /** Lists requests to the messaging API, including refused ones, newest first. */
  calls: (limit?: number) => takeFirst(world.requests.newestFirst(), limit),
  givenUp: (limit?: number) => takeFirst(world.callback.givenUp.newestFirst(), limit),
  script: (script: Script): void => {
    if (script.trouble.kind === 'refused' && script.recipient !== undefined)
      throw invalid({ recipient: ['A request that is refused before its body is read has no recipient yet.'] })
    world.scripts.add(script)
  },
  clearScripts: (): void => world.scripts.clear(),
  outage: (mode: Outage): void => {
    world.outage = mode
    cutHanging(world)
  },
  inbound: ({ phone_number_id, ...inbound }: Inbound) => {
    if (!inbound.text && !inbound.button && !inbound.location && !inbound.message)
      throw invalid({ text: [required('text')] })
    return receive(world, pickNumber(world, phone_number_id), inbound)
  },
  press: ({ message_id, index, from, copies }: Press) => {
    const message = pickMessage(world, message_id)
    const number = pickNumber(world, message.phoneNumberId)
    const button = findButton(message, index)
    return receive(world, number, { from: from ?? message.to, button, to: message }, copies)
  },
  event: ({ phone_number_id, ...event }: PersonEvent): void =>
    reportEvent(world, pickNumber(world, phone_number_id), event),
  /** Sends news of the account: the API names no number in it. */
  change: ({ field, value, entry_id, phone_number_id }: FieldChange): void =>
    world.callback.send(pickNumber(world, phone_number_id).phone_number_id, {
      field,
      value,
      entryId: entry_id ?? null,
    }),
  /** Sends a status of a message now, regardless of its earlier statuses. */
  status: ({ message_id, status, code }: StatusReport): void =>
    reportStatus(world, pickMessage(world, message_id), status, code),
})
export type Control = ReturnType<typeof createControl>

const takeFirst = <T>(items: Iterator<T>, limit = 100): T[] => Iterator.from(items).take(limit).toArray()

/** Finds the number with that id, or the first one; throws when there is none. */
const pickNumber = ({ accounts }: World, id: string | undefined): PhoneNumber => {
  const number = id === undefined ? accounts.numbers.values().next().value : accounts.numbers.get(id)
  if (!number) throw invalid({ phone_number_id: [selectedInvalid('phone_number_id')] })
  return number
}

const pickMessage = ({ messages }: World, id: string): Message => {
  const message = messages.find(id)
  if (!message) throw invalid({ message_id: [selectedInvalid('message_id')] })
  return message
}

/** Returns the quick reply at `index`; its payload is the one that the message gave it, or else its text. */
const findButton = ({ replies, template, components }: Message, index: number): { text: string; payload: string } => {
  const reply = replies[index]
  if (reply) return { text: reply.title, payload: reply.id }
  const button = template && listButtons(template)[index]
  if (button?.type !== 'QUICK_REPLY') throw invalid({ index: [selectedInvalid('index')] })
  const given = components.find(component => Number(component.index ?? -1) === index)
  return { text: button.text, payload: given?.parameters?.[0]?.payload ?? button.text }
}

const summarize = (world: World) => ({
  now: new Date().toISOString(),
  accepted: world.messages.accepted(),
  calls: world.requests.counts(),
  planned: world.clock.planned(),
  webhooks: world.callback.counts(),
  outage: world.outage,
  scripts: world.scripts.list(),
  behaviour: { ...world.behaviour },
})
