import { setTimeout as delay } from 'node:timers/promises'
import { invalid } from '@courier/shared/http/errors.ts'
import { required } from '@courier/shared/http/faults.ts'
import type { CallView } from '../graph/calls.ts'
import { type MessageView, viewOf } from '../send/message.ts'
import { applyEvent, type TemplateEvent } from '../templates/events.ts'
import type { Template } from '../templates/template.ts'
import type { Outage } from '../trouble/outage.ts'
import type { Script } from '../trouble/scripts.ts'
import { type Inbound, type InboundView, receive } from '../webhooks/inbox.ts'
import { letGo, reset, type World, type WorldOptions } from '../world.ts'
import * as accounts from './accounts.ts'
import type { BehaviourChange, MessageQuestion, NumberChange, Summary, TemplateChange, TokenChange } from './schema.ts'
import * as webhooks from './webhooks.ts'

const first = <T>(items: Iterable<T>, limit = 100): T[] => Iterator.from(items).take(limit).toArray()

/** The strings of the puppet: what the control calls do, and what a test in the same process calls directly. */
export const createControl = (world: World, options: WorldOptions) => ({
  summary: (): Summary => summaryOf(world),
  /** Takes the changes; what is left out stays. */
  behave(change: BehaviourChange): Summary['behaviour'] {
    return Object.assign(world.behaviour, change)
  },
  accounts: () => accounts.viewAccounts(world),
  putNumber: (id: string, change: NumberChange = {}) => accounts.putNumber(world, id, change),
  putToken: (change: TokenChange) => accounts.putToken(world, change),
  putTemplate: (change: TemplateChange): Template => accounts.putTemplate(world, change),
  /** Accepted messages, newest first; 100 unless the limit says otherwise. */
  messages({ to, phone_number_id, status, callback, limit }: MessageQuestion = {}): MessageView[] {
    const filter = { to: to?.replace(/\D/g, ''), phoneNumberId: phone_number_id, status, callback }
    return first(world.messages.list(filter), limit).map(viewOf)
  },
  /** Inbound messages, newest first. */
  inbox: (limit?: number): InboundView[] => first(world.inbox.newestFirst(), limit),
  /** Calls of the messaging API, refused ones too, newest first. */
  calls: (limit?: number): CallView[] => first(world.calls.list(), limit),
  /** Posts to callbacks, newest first. */
  webhooks: () => world.callback.posts(),
  /** The next calls meet this trouble. */
  script(script: Script) {
    if (script.trouble.kind === 'refused' && script.recipient !== undefined)
      throw invalid({ recipient: ['A call that is refused before its body is read has no recipient yet.'] })
    world.scripts.add(script)
  },
  clearScripts: () => world.scripts.clear(),
  outage(mode: Outage) {
    world.outage = mode
    letGo(world)
  },
  inbound(message: Inbound): InboundView {
    if (!message.text && !message.button) throw invalid({ text: [required('text')] })
    return receive(world, accounts.pickNumber(world, message.phone_number_id), message)
  },
  templateEvent(told: TemplateEvent) {
    const { wabaId, template } = accounts.pickTemplate(world, told)
    applyEvent(world, wabaId, template, told)
  },
  status: (order: Parameters<typeof webhooks.orderStatus>[1]) => webhooks.orderStatus(world, order),
  rawWebhook: (order: Parameters<typeof webhooks.postRaw>[1]) => webhooks.postRaw(world, order),
  verify: (verifyToken: string, phoneNumberId?: string) => webhooks.verify(world, verifyToken, phoneNumberId),
  /** Moves the simulator's clock forward; what is planned keeps its real delay. */
  advance: (seconds: number) => world.clock.advance(seconds),
  /** Everything is as it was at the start. */
  reset: () => reset(world, options),
  /** Settles when no status and no webhook is to come; false after `timeoutMs`. */
  async idle(timeoutMs = 10_000): Promise<boolean> {
    for (const end = performance.now() + timeoutMs; performance.now() < end; await delay(5))
      if (isIdle(world)) return true
    return isIdle(world)
  },
})
export type Control = ReturnType<typeof createControl>

const isIdle = ({ clock, callback }: World): boolean => {
  const { waiting, under_way, to_retry } = callback.counts()
  return clock.planned() + waiting + under_way + to_retry === 0
}

const summaryOf = (world: World): Summary => ({
  now: new Date(world.clock.now()).toISOString(),
  accepted: world.messages.accepted(),
  calls: world.calls.counts(),
  planned: world.clock.planned(),
  webhooks: world.callback.counts(),
  outage: world.outage,
  scripts: world.scripts.list(),
  behaviour: { ...world.behaviour },
})
