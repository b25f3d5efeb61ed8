import { ErrorList, listErrors } from '@courier/shared/errors/field-errors.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { MessageBodies, MessageBody } from './schema.ts'

/** The messages of a request. undefined replaces a message with errors. */
export interface Batch<Message> {
  readonly messages: readonly (Message | undefined)[]
  readonly errors: ErrorList
  /** The path prefix for errors of the message at `index`: `messages.<index>.` in a bulk request, else empty. */
  readonly toPath: (index: number) => string
}

export const toBatch = <Message>(message: Message | undefined, errors = new ErrorList()): Batch<Message> => ({
  messages: [message],
  errors,
  toPath: () => '',
})

const listed = (index: number): string => `messages.${index}.`

/** Compiles a reader of bulk requests of up to `maxMessages` messages: it keeps those with a valid shape. */
export const createBatchReader = (maxMessages: number): ((body: unknown) => Batch<MessageBody>) => {
  const check = TypeCompiler.Compile(MessageBodies(maxMessages))
  return body => {
    if (check.Check(body)) return { messages: body.messages, errors: new ErrorList(), toPath: listed }
    const errors = listErrors(check, body ?? {})
    const messages: unknown = (body as { messages?: unknown } | null)?.messages
    // Keeps nothing if there may be more errors than were counted.
    const isReadable = Array.isArray(messages) && messages.length <= maxMessages && !errors.isFull
    const wrong = new Set([...errors.paths].map(path => /^messages\.\d+\./.exec(`${path}.`)?.[0]))
    const kept = isReadable ? messages.map((message, index) => (wrong.has(listed(index)) ? undefined : message)) : []
    return { messages: kept, errors, toPath: listed }
  }
}

const checkOne = TypeCompiler.Compile(MessageBody)

export const readOne = (body: unknown): Batch<MessageBody> =>
  checkOne.Check(body) ? toBatch(body) : toBatch<MessageBody>(undefined, listErrors(checkOne, body ?? {}))
