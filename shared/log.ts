import { type Logger, pino, stdSerializers } from 'pino'
import pretty from 'pino-pretty'

/** JSON lines on standard output, readable ones on a terminal. */
export const createLogger = (service: string, level: string): Logger =>
  pino(
    { level, base: { service }, serializers: { err: describeError } },
    ...(process.stdout.isTTY ? [pretty({ ignore: 'pid,hostname,service', translateTime: 'HH:MM:ss.l' })] : []),
  )

/**
 * An error as it may stand in a log. Postgres puts values of rows into `detail`, `where` and, for data exceptions
 * (SQLSTATE class 22), into the message itself: those are left out.
 */
export const describeError = (error: Error): Record<string, unknown> => {
  const { code, severity, table, constraint, routine } = error as Error & Record<string, unknown>
  if (typeof severity !== 'string') return stdSerializers.err(error)
  const showsValues = typeof code === 'string' && code.startsWith('22')
  const frames = error.stack?.slice(error.stack.indexOf('\n    at '))
  const message = showsValues ? 'data exception' : error.message
  return { type: 'DatabaseError', code, message, table, constraint, routine, stack: frames }
}
