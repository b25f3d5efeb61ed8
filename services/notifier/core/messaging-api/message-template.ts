import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, type TObject, type TOptional, type TSchema, Type } from '@sinclair/typebox'

const maxParameterLength = 1024
const maxParameters = 100
const maxComponents = 12

/** Fits a message whose texts all have their maximum length, every character escaped. */
export const maxMessageBytes = (2 * maxParameters + 1) * (6 * maxParameterLength + 512)

export const ParameterText = Type.String({
  minLength: 1,
  maxLength: maxParameterLength,
  // The API refuses line breaks, tabs and five blanks in a row (docs/contributors/messaging-api.md#components).
  pattern: '^(?=\\s*\\S) {0,4}([^ \\n\\r\\t\\u0000] {0,4})*$',
  must: 'be a text of 1 to 1024 characters without line breaks, tabs or more than four blanks in a row',
})

const shortText = (maxLength: number) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '^(?=\\s*\\S)[^\\u0000-\\u001f]*$',
    must: `be a text of 1 to ${maxLength} characters without line breaks`,
  })

/** A link may name fields of an order; the API fetches the file, not this service. */
export const MediaLink = Type.String({
  maxLength: 2000,
  pattern: '^https://[^\\s\\u0000-\\u001f/?#]+/[^\\s\\u0000-\\u001f]*$',
  must: 'be an https address',
})

const media = closed({ link: MediaLink })

export const Location = closed({
  latitude: Type.Number({ minimum: -90, maximum: 90 }),
  longitude: Type.Number({ minimum: -180, maximum: 180 }),
  name: shortText(1000),
  address: shortText(1000),
})
export const Payload = shortText(256)
export const CouponCode = Type.String({
  maxLength: 20,
  pattern: '^[A-Za-z0-9]{1,20}$',
  must: 'be 1 to 20 letters and digits',
})
export const ParameterName = Type.String({
  maxLength: 60,
  pattern: '^[a-z0-9_]{1,60}$',
  must: 'be lower-case letters, digits and _',
})

/** A parameter has the value that its `type` names (docs/contributors/messaging-api.md#components). */
const values = {
  text: ParameterText,
  currency: closed({
    fallback_value: shortText(60),
    code: Type.String({ maxLength: 3, pattern: '^[A-Z]{3}$', must: 'be a currency code such as LKR' }),
    amount_1000: Type.Integer({ description: 'Thousandths of the currency.' }),
  }),
  date_time: closed({ fallback_value: shortText(60) }),
  image: media,
  video: media,
  document: closed({ link: MediaLink, filename: Type.Optional(shortText(240)) }),
  location: Location,
  payload: Payload,
  coupon_code: CouponCode,
}
export type ParameterType = keyof typeof values
export const parameterTypes = Object.keys(values) as ParameterType[]

const optionalValues = Object.fromEntries(parameterTypes.map(type => [type, Type.Optional(values[type])])) as {
  [type in ParameterType]: TOptional<(typeof values)[type]>
}

export const Parameter = closed(
  { type: oneOf(parameterTypes), ...optionalValues, parameter_name: Type.Optional(ParameterName) },
  { description: 'An object with a `type` and the value that it names.' },
)
export type Parameter = Static<typeof Parameter>

export const buttonKinds = ['quick_reply', 'url', 'copy_code'] as const
export type ButtonKind = (typeof buttonKinds)[number]

export const Component = closed({
  type: Type.Union([Type.Literal('header'), Type.Literal('body'), Type.Literal('button')], {
    must: 'be "header", "body" or "button"',
  }),
  sub_type: Type.Optional(oneOf(buttonKinds, { description: 'The kind of a button.' })),
  index: Type.Optional(
    Type.Union([Type.String({ maxLength: 1, pattern: '^[0-9]$' }), Type.Integer({ minimum: 0, maximum: 9 })], {
      must: 'be the position of the button, 0 to 9',
      description: "A button's position in the template, from 0.",
    }),
  ),
  parameters: Type.Array(Parameter, { maxItems: maxParameters }),
})
/** The payload of a button with an action begins with this prefix, and no other payload does. */
export const tokenPrefix = 'courier.'

/** A press of a rule's quick reply requests `action` from orders: the send replaces the payload with a token. */
export type Component = Static<typeof Component> & { readonly action?: string | undefined }

/** Returns one component of these texts; none without texts. */
export const toTexts = (type: 'header' | 'body', ...texts: string[]): Component[] =>
  texts.length > 0 ? [{ type, parameters: texts.map(text => ({ type: 'text', text })) }] : []

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

/** Names an approved template and its parameters (docs/merchants/contract.md#send). */
export const MessageTemplate = closed({
  name: TemplateName,
  language: closed({
    code: LanguageCode,
    policy: Type.Optional(Type.Literal('deterministic', { must: 'be "deterministic"' })),
  }),
  components: Type.Array(Component, { maxItems: maxComponents }),
})
export type MessageTemplate = Omit<Static<typeof MessageTemplate>, 'components'> & { components: Component[] }

/** Holds a text, which only an open conversation allows (docs/contributors/messaging-api.md#conversations). */
interface PlainText {
  readonly text: string
  /** A press requests this action; a token replaces it when the message is sent. */
  readonly button?: { readonly title: string; readonly action: string } | undefined
  /** Offers the person to share the phone number. */
  readonly asksNumber?: true | undefined
  /** Staff wrote it, and know that it takes the conversation from another responder. */
  readonly takesOver?: true | undefined
}

export const PlainTextBody = Type.String({
  minLength: 1,
  maxLength: maxParameterLength,
  pattern: '^(?=\\s*\\S)[^\\u0000-\\u0009\\u000b-\\u001f]*$',
  must: `be a text of 1 to ${maxParameterLength} characters`,
})

export type Content = MessageTemplate | PlainText

export const isPlain = (content: Content): content is PlainText => 'text' in content

export interface ParameterPart {
  readonly text: string
  /** Names the value: `text` or `image.link`, for example. */
  readonly field: string
  readonly maxLength: number
  /** Is true for an address: values that fill it are encoded. */
  readonly isAddress: boolean
}

export const mapTexts = (
  component: Pick<Component, 'type'>,
  parameter: Parameter,
  replace: (part: ParameterPart) => string,
): Parameter => {
  const { type } = parameter
  const value: unknown = parameter[type]
  if (typeof value === 'string') {
    const part = { field: type, maxLength: readMaxLength(values[type]), isAddress: isSuffix(component, type) }
    return { ...parameter, [type]: replace({ text: value, ...part }) }
  }
  if (typeof value !== 'object' || value === null) return parameter
  const replaced = Object.entries(value).map(([name, inner]) => {
    const maxLength = readMaxLength((values[type] as TObject).properties[name])
    const part = { field: `${type}.${name}`, maxLength, isAddress: name === 'link' }
    return [name, typeof inner === 'string' ? replace({ text: inner, ...part }) : inner]
  })
  return { ...parameter, [type]: Object.fromEntries(replaced) }
}

const readMaxLength = (schema: TSchema | undefined): number => schema?.maxLength ?? maxParameterLength

/** Returns true for the text of a URL button, which is the end of its address. */
const isSuffix = (component: Pick<Component, 'type'>, type: ParameterType): boolean =>
  component.type === 'button' && type === 'text'

export interface LocatedText extends Pick<ParameterPart, 'text' | 'field'> {
  readonly path: string
  readonly component: Component
  readonly parameter: Parameter
}

/** Returns all texts of a template's parameters, with their paths in the template. */
export const listTexts = ({ components }: Pick<MessageTemplate, 'components'>): LocatedText[] => {
  const texts: LocatedText[] = []
  for (const [c, component] of components.entries())
    for (const [p, parameter] of component.parameters.entries())
      mapTexts(component, parameter, ({ text, field }) => {
        texts.push({ text, path: `components.${c}.parameters.${p}.${field}`, field, component, parameter })
        return text
      })
  return texts
}
