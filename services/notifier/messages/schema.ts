import { type Static, Type } from '@sinclair/typebox'

const ParameterText = Type.String({
  minLength: 1,
  maxLength: 1024,
  // A line break, a tab or more than four blanks in a row makes the API refuse the whole message (messaging-api 1.2).
  pattern: '^(?!.* {5})[^\\n\\r\\t\\u0000]*\\S[^\\n\\r\\t\\u0000]*$',
  must: 'be 1 to 1024 characters without line breaks, tabs and more than four blanks in a row',
})

export const Parameter = Type.Object(
  {
    type: Type.Literal('text', { must: 'be "text"' }),
    text: ParameterText,
    parameter_name: Type.Optional(
      Type.String({ pattern: '^[a-z0-9_]{1,60}$', must: 'be lower-case letters, digits and _' }),
    ),
  },
  { additionalProperties: false },
)

export const Component = Type.Object(
  {
    type: Type.Union([Type.Literal('header'), Type.Literal('body')], { must: 'be "header" or "body"' }),
    parameters: Type.Array(Parameter, { maxItems: 100 }),
  },
  { additionalProperties: false },
)

/** What to send: an approved template and its parameters (spec.md 2.6). */
export const MessageTemplate = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9_]{1,512}$', must: 'be a template name: lower-case letters, digits and _' }),
    language: Type.Object(
      { code: Type.String({ pattern: '^[a-z]{2,3}(_[A-Z]{2})?$', must: 'be a locale code such as en_US' }) },
      { additionalProperties: false },
    ),
    components: Type.Array(Component, { maxItems: 2 }),
  },
  { additionalProperties: false },
)
export type MessageTemplate = Static<typeof MessageTemplate>
