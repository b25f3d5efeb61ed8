import { randomUUID } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { hydrate, shapeOf } from '../accounts/placeholders.ts'
import type { Template } from '../accounts/template.ts'
import { oneOf } from '../basics/one-of.ts'
import { statusWords } from '../trouble/trouble.ts'
import type { Component, Parameter, ReplyButton } from './schema.ts'

/** An accepted message. Times come from the clock, in milliseconds. */
export interface Message {
  id: string
  phoneNumberId: string
  /** The recipient in digits. */
  to: string
  /** undefined: it is a text. */
  template: Template | undefined
  components: Component[]
  text: string | undefined
  /** Reply buttons under a text. */
  replies: ReplyButton[]
  callback: string | undefined
  acceptedAt: number
  statuses: { status: string; at: number; code?: number | undefined }[]
}

const Rendered = Type.Object({
  header: Type.Optional(Type.String()),
  body: Type.String(),
  footer: Type.Optional(Type.String()),
  buttons: Type.Array(Type.String()),
})
type Rendered = Static<typeof Rendered>

/** A message as control shows it. */
export const MessageView = Type.Object(
  {
    id: Type.String(),
    phone_number_id: Type.String(),
    to: Type.String({ description: 'The recipient in digits.' }),
    template: Type.Union([Type.Object({ name: Type.String(), language: Type.String() }), Type.Null()], {
      description: 'Null for a text.',
    }),
    components: Type.Array(Type.Unknown(), { description: 'As they came.' }),
    rendered: Rendered,
    biz_opaque_callback_data: Type.Union([Type.String(), Type.Null()]),
    accepted_at: Type.String(),
    status: Type.Union([oneOf(statusWords), Type.Literal('accepted')], { description: 'The last one sent.' }),
    statuses: Type.Array(
      Type.Object({
        status: Type.String(),
        at: Type.String(),
        code: Type.Optional(Type.Integer()),
      }),
    ),
  },
  { title: 'Message' },
)
export type MessageView = Static<typeof MessageView>

export const viewOf = (message: Message): MessageView => ({
  id: message.id,
  phone_number_id: message.phoneNumberId,
  to: message.to,
  template: message.template ? { name: message.template.name, language: message.template.language } : null,
  components: message.components,
  rendered: message.template
    ? render(message.template, message.components)
    : { body: message.text ?? '', buttons: message.replies.map(({ title }) => title) },
  biz_opaque_callback_data: message.callback ?? null,
  accepted_at: new Date(message.acceptedAt).toISOString(),
  status: (message.statuses.at(-1)?.status ?? 'accepted') as MessageView['status'],
  statuses: message.statuses.map(({ at, code, status }) => ({
    status,
    at: new Date(at).toISOString(),
    ...(code !== undefined && { code }),
  })),
})

/** Renders the message as the recipient reads it. */
const render = (template: Template, components: Component[]): Rendered => {
  const shape = shapeOf(template)
  const part = (type: string) => components.find(component => component.type.toLowerCase() === type)?.parameters ?? []
  const header = headerText(shape.header?.format, shape.header?.text, part('header'))
  return {
    ...(header !== undefined && { header }),
    body: fill(shape.body?.text ?? '', part('body')),
    ...(shape.footer?.text !== undefined && { footer: shape.footer.text }),
    buttons: shape.buttons.map(button => button.text ?? button.type),
  }
}

const headerText = (format: string | undefined, text: string | undefined, parameters: Parameter[]) => {
  if (format !== undefined && format !== 'TEXT') return `[${format.toLowerCase()}]`
  return text === undefined ? undefined : fill(text, parameters)
}

/** Fills the placeholders of a text, by position or by name. */
export const fill = (text: string, parameters: Parameter[]): string =>
  hydrate(text, name =>
    textOf(parameters.find(({ parameter_name }) => parameter_name === name) ?? parameters[Number(name) - 1]),
  )

const textOf = (parameter: Parameter | undefined): string =>
  parameter?.text ?? parameter?.currency?.fallback_value ?? parameter?.date_time?.fallback_value ?? ''

/** Makes an id in the form of the real ones: `wamid.` and base64 that contains the other party's number. */
export const messageId = (person: string): string => {
  const unique = randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()
  const bytes = `\x1c\x18${String.fromCharCode(person.length)}${person}\x15\x02\x00\x11\x18\x12${unique}\x00`
  return `wamid.${Buffer.from(bytes, 'latin1').toString('base64')}`
}
