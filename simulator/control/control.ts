import { invalid } from '@courier/shared/errors/errors.ts'
import { required, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { shapeOf } from '../accounts/placeholders.ts'
import { keyOf } from '../accounts/template.ts'
import { type MessageView, viewOf } from '../messages/message.ts'
import type { Outage, Script } from '../trouble/scripts.ts'
import type { Inbound, InboundView, Preference, Press } from '../webhooks/inbox.ts'
import { categoryOf, preferenceOf } from '../webhooks/payloads.ts'
import type { GivenUp } from '../webhooks/schema.ts'
import { receive, reportStatus } from '../world/report.ts'
import type { RequestView } from '../world/request-log.ts'
import { letGo, type World } from '../world/world.ts'
import * as accounts from './accounts.ts'
import type {
  BehaviourChange,
  CategoryOrder,
  MessageQuestion,
  NumberChange,
  StatusOrder,
  Summary,
  TokenChange,
} from './schema.ts'

const first = <T>(items: Iterable<T>, limit = 100): T[] => Iterator.from(items).take(limit).toArray()

/** Creates the actions of the control routes; a test in the same process runs them directly. */
export const createControl = (world: World) => ({
  summary: (): Summary => summaryOf(world),
  /** Applies the changes; omitted fields keep their values. */
  behave(change: BehaviourChange): Summary['behaviour'] {
    return Object.assign(world.behaviour, change)
  },
  putNumber: (id: string, change: NumberChange = {}) => accounts.putNumber(world, id, change),
  putToken: (change: TokenChange) => accounts.putToken(world, change),
  /** Accepted messages, newest first; 100 unless the limit says otherwise. */
  messages({ to, phone_number_id, limit }: MessageQuestion = {}): MessageView[] {
    const filter = { to: to?.replace(/\D/g, ''), phoneNumberId: phone_number_id }
    return first(world.messages.list(filter), limit).map(viewOf)
  },
  /** Inbound messages, newest first. */
  inbox: (limit?: number): InboundView[] => first(world.inbox.newestFirst(), limit),
  /** Requests of the messaging API, refused ones too, newest first. */
  calls: (limit?: number): RequestView[] => first(world.requests.list(), limit),
  /** Updates of webhooks that were given up, newest first. */
  givenUp: (limit?: number): GivenUp[] => first(world.callback.givenUp.newestFirst(), limit),
  /** Makes the next requests fail in this way. */
  script(script: Script) {
    if (script.trouble.kind === 'refused' && script.recipient !== undefined)
      throw invalid({ recipient: ['A request that is refused before its body is read has no recipient yet.'] })
    world.scripts.add(script)
  },
  clearScripts: () => world.scripts.clear(),
  outage(mode: Outage) {
    world.outage = mode
    letGo(world)
  },
  inbound(message: Inbound): InboundView {
    if (!message.text && !message.button && !message.location) throw invalid({ text: [required('text')] })
    return receive(world, accounts.pickNumber(world, message.phone_number_id), message)
  },
  /** The payload is the one that the message gave to the button, or the button's text if there is none. */
  press({ message_id, index, from, copies }: Press): InboundView {
    const message = world.messages.find(message_id)
    if (!message) throw invalid({ message_id: [selectedInvalid('message_id')] })
    const number = accounts.pickNumber(world, message.phoneNumberId)
    const receiveTap = (button: { text: string; payload: string }) =>
      receive(world, number, { from: from ?? message.to, button }, { copies, repliesTo: message })
    const reply = message.replies[index]
    if (reply) return receiveTap({ text: reply.title, payload: reply.id })
    const button = message.template && shapeOf(message.template).buttons[index]
    if (button?.type !== 'QUICK_REPLY') throw invalid({ index: [selectedInvalid('index')] })
    const given = message.components.find(component => Number(component.index ?? -1) === index)
    const text = button.text ?? ''
    return receiveTap({ text, payload: given?.parameters?.[0]?.payload ?? text })
  },
  prefer({ from, value, phone_number_id }: Preference) {
    const number = accounts.pickNumber(world, phone_number_id)
    const preference = preferenceOf(from.replace('+', ''), value, Date.now())
    world.callback.send(number.phone_number_id, { preference })
  },
  /** Changes a template's category, or announces that for `in_hours` from now. */
  changeCategory({ name, language = 'en_US', category, in_hours, phone_number_id }: CategoryOrder) {
    const number = accounts.pickNumber(world, phone_number_id)
    const catalogue = world.accounts.templates.get(number.waba_id)
    const template = catalogue?.get(keyOf({ name, language }))
    if (!template) throw invalid({ name: [selectedInvalid('name')] })
    const at = in_hours === undefined ? undefined : Date.now() + in_hours * 3_600_000
    world.callback.send(number.phone_number_id, { category: categoryOf(template, category, at) })
    if (at === undefined) catalogue?.set(keyOf(template), { ...template, category })
  },
  /** Sends a status of a message now, whatever statuses it had before. */
  status({ message_id, status, code }: StatusOrder) {
    const message = world.messages.find(message_id)
    if (!message) throw invalid({ message_id: [selectedInvalid('message_id')] })
    reportStatus(world, message, { status, ...(code !== undefined && { code }) }, Date.now())
  },
})
export type Control = ReturnType<typeof createControl>

const summaryOf = (world: World): Summary => ({
  now: new Date(Date.now()).toISOString(),
  accepted: world.messages.accepted(),
  calls: world.requests.counts(),
  planned: world.clock.planned(),
  webhooks: world.callback.counts(),
  outage: world.outage,
  scripts: world.scripts.list(),
  behaviour: { ...world.behaviour },
})
