import { schemaErrors } from '@courier/shared/schema-errors.ts'
import type { Static } from '@sinclair/typebox'
import { TypeCompiler, ValueErrorType } from '@sinclair/typebox/compiler'
import type { ValueError } from '@sinclair/typebox/errors'
import { GraphError, parameterRequired } from '../graph/errors.ts'
import { AskNumberBody, ButtonsBody, type MessageBody, ReadBody, TemplateBody, TextBody } from '../messages/bodies.ts'
import { findPhone, isUserId } from '../messages/people.ts'

const schemas = { template: TemplateBody, text: TextBody, interactive: ButtonsBody }
const checks = [ReadBody, AskNumberBody, ...Object.values(schemas)].map(schema => TypeCompiler.Compile(schema))

const otherTypes = 'audio contacts document image location reaction sticker video'.split(' ')

/** Checks the body of a request by itself; throws the API's error for the first problem. */
export const readMessage = (body: unknown): MessageBody | Static<typeof ReadBody> => {
  if (checks.some(check => check.Check(body))) return requireUniqueButtons(body as MessageBody)
  const given = (body ?? {}) as Record<string, unknown>
  if (typeof body !== 'object' || given.messaging_product === undefined) throw parameterRequired('messaging_product')
  const asked = String(given.type ?? 'text')
  if (otherTypes.includes(asked))
    throw new GraphError(131051, {
      details: `The simulator accepts messages of type template, text and interactive, not ${asked}.`,
    })
  const ofType = Object.hasOwn(schemas, asked) ? schemas[asked as keyof typeof schemas] : TemplateBody
  const schema = given.status === undefined || given.type !== undefined ? ofType : ReadBody
  const [first] = schemaErrors(schema, body)
  throw toRefusal(first as ValueError)
}

const requireUniqueButtons = (body: MessageBody): MessageBody => {
  if (body.type !== 'interactive' || body.interactive.type !== 'button') return body
  const replies = body.interactive.action.buttons.map(({ reply }) => reply)
  for (const field of ['id', 'title'] as const)
    if (new Set(replies.map(reply => reply[field])).size < replies.length)
      throw new GraphError(131009, { details: `interactive.action.buttons: duplicated button ${field}` })
  return body
}

const toRefusal = ({ path, type, value, schema }: ValueError): GraphError => {
  const parts = path.slice(1).split('/')
  const name = parts.join('.')
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return parts.length === 1 ? parameterRequired(name) : new GraphError(131008, { details: `${name} is missing` })
    case ValueErrorType.ObjectAdditionalProperties: {
      const owner = parts.slice(0, -1).join('.')
      return new GraphError(100, {
        message: `(#100) Unexpected key "${parts.at(-1)}" on param "${owner || 'message'}".`,
      })
    }
    case ValueErrorType.Literal:
      return new GraphError(100, {
        message: `(#100) Param ${name} must be one of {${String(schema.const).toUpperCase()}} - got "${quote(value)}".`,
      })
    case ValueErrorType.StringMaxLength:
      return new GraphError(100, { details: `Param ${name} must be at most ${schema.maxLength} characters long.` })
    default:
      return new GraphError(131009, { details: `${name || 'The body'} is not valid` })
  }
}

const quote = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 100)

/**
 * Returns the recipient in digits (docs/contributors/messaging-api.md#recipient); all are international. A user id
 * stands for its person's number if that is known.
 */
export const readRecipient = (to: string, isToUserId: boolean): string => {
  if (isUserId(to)) return isToUserId ? findPhone(to) : to
  const digits = to.replace(/[+\-() ]/g, '')
  if (!/^[1-9][0-9]{5,14}$/.test(digits))
    throw new GraphError(131009, { details: `to: "${quote(to)}" is not a phone number` })
  return digits
}
