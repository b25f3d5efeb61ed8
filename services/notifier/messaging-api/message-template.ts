import { type Static, Type } from '@sinclair/typebox'

const maxParameterLength = 1024
const maxParameters = 100
const maxComponents = 2

/** Of a message whose texts are all as long as they may be, every character escaped. */
export const maxMessageBytes = (maxComponents * maxParameters + 1) * (6 * maxParameterLength + 512)

export const ParameterText = Type.String({
  minLength: 1,
  maxLength: maxParameterLength,
  // The API refuses line breaks, tabs and more than four blanks in a row (docs/messaging-api.md#components).
  pattern: '^(?=\\s*\\S) {0,4}([^ \\n\\r\\t\\u0000] {0,4})*$',
  must: 'be a text of 1 to 1024 characters without line breaks, tabs and more than four blanks in a row',
})

export const Parameter = Type.Object(
  {
    type: Type.Literal('text', { must: 'be "text"' }),
    text: ParameterText,
    parameter_name: Type.Optional(
      Type.String({ maxLength: 60, pattern: '^[a-z0-9_]{1,60}$', must: 'be lower-case letters, digits and _' }),
    ),
  },
  { additionalProperties: false },
)

export const Component = Type.Object(
  {
    type: Type.Union([Type.Literal('header'), Type.Literal('body')], { must: 'be "header" or "body"' }),
    parameters: Type.Array(Parameter, { maxItems: maxParameters }),
  },
  { additionalProperties: false },
)

export const TemplateName = Type.String({
  maxLength: 512,
  pattern: '^[a-z0-9_]{1,512}$',
  must: 'be a template name: lower-case letters, digits and _',
})
export const LanguageCode = Type.String({
  maxLength: 6,
  pattern: '^[a-z]{2,3}(_[A-Z]{2})?$',
  must: 'be a locale code such as en_US',
})

/** An approved template and its parameters (docs/contract.md#send). */
export const MessageTemplate = Type.Object(
  {
    name: TemplateName,
    language: Type.Object({ code: LanguageCode }, { additionalProperties: false }),
    components: Type.Array(Component, { maxItems: maxComponents }),
  },
  { additionalProperties: false },
)
export type MessageTemplate = Static<typeof MessageTemplate>
