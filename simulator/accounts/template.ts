import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../basics/one-of.ts'

/** See docs/contributors/messaging-api.md#templates. */
const templateStatuses = [
  'APPROVED',
  'PENDING',
  'REJECTED',
  'IN_APPEAL',
  'PAUSED',
  'DISABLED',
  'PENDING_DELETION',
  'DELETED',
  'LIMIT_EXCEEDED',
  'ARCHIVED',
] as const

const headerFormats = ['TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION'] as const

const Button = Type.Object({
  type: Type.String({ description: 'QUICK_REPLY, URL, PHONE_NUMBER, COPY_CODE and others.' }),
  text: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
  phone_number: Type.Optional(Type.String()),
  example: Type.Optional(Type.Unknown()),
})
export type Button = Static<typeof Button>

/** A part of a template, as the catalogue lists it: upper-case words here, lower-case ones in a send. */
export const TemplateComponent = Type.Object({
  type: oneOf(['HEADER', 'BODY', 'FOOTER', 'BUTTONS']),
  format: Type.Optional(oneOf(headerFormats)),
  text: Type.Optional(Type.String()),
  example: Type.Optional(Type.Unknown()),
  buttons: Type.Optional(Type.Array(Button, { maxItems: 10 })),
})
export type TemplateComponent = Static<typeof TemplateComponent>

export const Template = Type.Object(
  {
    id: Type.String({ maxLength: 18, pattern: '^[1-9][0-9]{0,17}$', must: 'be up to 18 digits' }),
    name: Type.String({
      maxLength: 512,
      pattern: '^[a-z0-9_]{1,512}$',
      must: 'be lower-case letters, digits and underscores',
    }),
    language: Type.String({ maxLength: 7, pattern: '^[a-z]{2,3}(_[A-Z]{2,3})?$', must: 'look like en or en_US' }),
    status: oneOf(templateStatuses),
    category: oneOf(['MARKETING', 'UTILITY', 'AUTHENTICATION']),
    parameter_format: oneOf(['POSITIONAL', 'NAMED']),
    components: Type.Array(TemplateComponent, { minItems: 1 }),
    quality_score: Type.Optional(Type.Object({ score: Type.String() })),
    rejected_reason: Type.Optional(Type.String()),
  },
  { title: 'Template' },
)
export type Template = Static<typeof Template>

/** `order_created` exists once in each language. */
export const keyOf = ({ name, language }: Pick<Template, 'name' | 'language'>): string => `${name}/${language}`
