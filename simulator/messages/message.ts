import { randomUUID } from 'node:crypto'
import { findPart, hydrate, listButtons, type Template } from '../accounts/template.ts'
import { createRing } from '../basics/ring.ts'
import type { StatusWord } from '../trouble/trouble.ts'
import type { Component, Parameter, Reply } from './bodies.ts'

/** Describes an accepted message. Times are in Unix milliseconds. */
export interface Message {
  id: string
  phoneNumberId: string
  to: string
  /** The message was sent to the person's user id. */
  isToUserId: boolean
  /** undefined: the message is a text. */
  template: Template | undefined
  components: Component[]
  text: string | undefined
  replies: Reply[]
  callback: string | undefined
  acceptedAt: number
  statuses: { status: StatusWord; at: number; code?: number }[]
}

export interface MessageFilter {
  to?: string | undefined
  phone_number_id?: string | undefined
}

/** A message takes about 1 KB. */
const capacity = 50_000

/** Keeps the last accepted messages. Older messages are forgotten, but their remaining statuses are still sent. */
export const createMessageLog = () => {
  const ring = createRing<Message>(capacity)
  const byId = new Map<string, Message>()
  let accepted = 0
  return {
    add(message: Message): void {
      const evicted = ring.push(message)
      if (evicted) byId.delete(evicted.id)
      byId.set(message.id, message)
      accepted += 1
    },
    find: (id: string) => byId.get(id),
    list: ({ to, phone_number_id: id }: MessageFilter) =>
      ring
        .newestFirst()
        .filter(each => (to ?? each.to) === each.to && (id ?? each.phoneNumberId) === each.phoneNumberId),
    accepted: () => accepted,
  }
}

const writeTime = (at: number): string => new Date(at).toISOString()

export const viewMessage = ({ template, components, text, replies, statuses, ...message }: Message) => ({
  id: message.id,
  phone_number_id: message.phoneNumberId,
  to: message.to,
  template: template ? { name: template.name, language: template.language } : null,
  components,
  rendered: template ? render(template, components) : { body: text ?? '', buttons: replies.map(({ title }) => title) },
  biz_opaque_callback_data: message.callback ?? null,
  accepted_at: writeTime(message.acceptedAt),
  status: statuses.at(-1)?.status ?? 'accepted',
  statuses: statuses.map(({ at, ...step }) => ({ ...step, at: writeTime(at) })),
})

const render = (template: Template, components: Component[]) => {
  const [header, body, footer] = (['HEADER', 'BODY', 'FOOTER'] as const).map(type => {
    const { format = 'TEXT', text } = findPart(template, type)
    const given = components.find(component => component.type.toUpperCase() === type)?.parameters ?? []
    return format === 'TEXT' ? text && fill(text, given) : `[${format.toLowerCase()}]`
  })
  const buttons = listButtons(template).map(({ text }) => text)
  return { ...(header && { header }), body: body ?? '', ...(footer && { footer }), buttons }
}

/** Fills the placeholders of a text, by position or by name. */
export const fill = (text: string, parameters: Parameter[]): string =>
  hydrate(text, name => {
    const named = parameters.find(({ parameter_name }) => parameter_name === name)
    const { text, currency, date_time } = named ?? parameters[Number(name) - 1] ?? {}
    return text ?? currency?.fallback_value ?? date_time?.fallback_value ?? ''
  })

/** Makes an id in the form of the real ones: `wamid.` and base64 that contains the other party's number. */
export const makeMessageId = (person: string): string => {
  const unique = randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()
  const bytes = `\x1c\x18${String.fromCharCode(person.length)}${person}\x15\x02\x00\x11\x18\x12${unique}\x00`
  return `wamid.${Buffer.from(bytes, 'latin1').toString('base64')}`
}
