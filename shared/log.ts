import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

/** Logs JSON lines to standard output, readable lines to a terminal. */
export const createLogger = (service: string, level: string): Logger =>
  pino(
    { level, base: { service }, serializers: { err: describeError } },
    ...(process.stdout.isTTY ? [pretty({ ignore: 'pid,hostname,service', translateTime: 'HH:MM:ss.l' })] : []),
  )

/**
 * An error as it may be logged, with its causes. Postgres puts values of rows into `detail`, `where` and, for data exceptions
 * (SQLSTATE class 22), into the message itself: those are left out.
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
    stack: frames(error),
    ...(cause !== undefined && { cause: describeError(cause) }),
    ...(Array.isArray(errors) && { errors: errors.map(describeError) }),
  }
}

/** The stack without the message in front of it. */
const frames = ({ stack = '', message }: Error): string => {
  const end = stack.indexOf(message) + message.length
  return stack.slice(Math.max(0, stack.indexOf('\n    at ', end)))
}
