import { ErrorList, listErrors } from '@courier/shared/errors/field-errors.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { MessageBodies, type MessageBody } from './schema.ts'

/** The messages of a request whose shape is right, and the errors of the others. */
export interface ReadMessages {
  /** undefined stands for a message with errors. */
  readonly bodies: readonly (MessageBody | undefined)[]
  readonly errors: ErrorList
}

/** Compiles a reader of bulk requests of up to `maxMessages` messages. */
export const messagesReader = (maxMessages: number): ((body: unknown) => ReadMessages) => {
  const check = TypeCompiler.Compile(MessageBodies(maxMessages))
  return body => {
    if (check.Check(body)) return { bodies: body.messages, errors: new ErrorList() }
    const errors = listErrors(check, body ?? {})
    const messages: unknown = (body as { messages?: unknown } | null)?.messages
    // Nothing where there may be more errors than were counted.
    const isReadable = Array.isArray(messages) && messages.length <= maxMessages && !errors.isFull
    const wrong = new Set([...errors.paths].map(path => /^messages\.\d+/.exec(path)?.[0]))
    const bodies = isReadable
      ? messages.map((message: MessageBody, index) => (wrong.has(`messages.${index}`) ? undefined : message))
      : []
    return { bodies, errors }
  }
}
