import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'

/**
 * Creates a logger that writes JSON lines to standard output. On a terminal, except in production, it writes readable
 * lines that name the service, and lines of requests only at level debug.
 */
export const createLogger = (
  service: string,
  level: string,
  isForPeople = process.stdout.isTTY && process.env.NODE_ENV !== 'production',
): Logger => {
  const options: LoggerOptions = { level, base: { service }, serializers: { err: describeError } }
  if (!isForPeople) return pino(options)
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  return pino({ ...options, hooks: withoutRequests }, pretty(readable))
}

const readable = {
  ignore: 'pid,hostname,service',
  translateTime: 'HH:MM:ss.l',
  messageFormat: '{service}: {msg}',
}

const withoutRequests: NonNullable<LoggerOptions['hooks']> = {
  logMethod(args, log) {
    if (args[1] !== 'request.completed' || this.isLevelEnabled('debug')) log.apply(this, args)
  },
}

/**
 * Prepares an error for the log, with its causes. Postgres puts values of rows into `detail`, `where` and, for data
 * exceptions (SQLSTATE class 22), into the message itself: the log omits these.
 */
export const describeError = (error: unknown): Record<string, unknown> => {
  if (!(error instanceof Error)) return { type: typeof error }
  const { code, severity, table, constraint, routine, cause, errors } = error as Error & Record<string, unknown>
  const isOfPostgres = typeof severity === 'string'
  const showsValues = isOfPostgres && typeof code === 'string' && code.startsWith('22')
  return {
    type: isOfPostgres ? 'DatabaseError' : error.name,
    code,
    message: showsValues ? 'data exception' : error.message,
    ...(isOfPostgres && { table, constraint, routine }),
    stack: readFrames(error),
    ...(cause !== undefined && { cause: describeError(cause) }),
    ...(Array.isArray(errors) && { errors: errors.map(describeError) }),
  }
}

/** Returns the stack without the message in front of it. */
const readFrames = ({ stack = '', message }: Error): string => {
  const end = stack.indexOf(message) + message.length
  return stack.slice(Math.max(0, stack.indexOf('\n    at ', end)))
}
