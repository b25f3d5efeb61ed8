import { flushCompileCache } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import { bypassesRowSecurity, isUnavailable } from '../postgres/database.ts'
import { UnusableDatabase } from '../postgres/history.ts'
import { UnsupportedPostgres } from '../postgres/migrate.ts'
import { listMissingFixes } from '../security-fixes.ts'
import type { Tracer } from '../traces.ts'

/** Runs beside the HTTP application. `stop` finishes the work in progress, within the ten seconds of a shutdown. */
export interface Worker {
  start(): void
  stop(): Promise<unknown>
}

/** `giveUp` ends the requests in flight at once. */
interface Client {
  giveUp?(): void
  close(): Promise<unknown>
}

export interface Service {
  readonly app: Pick<FastifyInstance, 'listen' | 'close'>
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly workers: readonly Worker[]
  /** Lists the clients of other services, which are closed after the application and the workers. */
  readonly clients: readonly (Client | undefined)[]
  /** Returns the names of the migrations applied. */
  readonly migrate: () => Promise<readonly string[]>
  /** Says why the process must not run on this database, and what to do; undefined: it may. */
  readonly findProblem: () => Promise<string | undefined>
  readonly host: string
  readonly port: number
  /** Names the setting to change when the port is in use. */
  readonly portSetting: string
}

/** Returns undefined without an endpoint: then no part of OpenTelemetry is loaded. */
export const startTracer = async (
  service: string,
  endpoint: string | undefined,
  logger: Logger,
): Promise<Tracer | undefined> =>
  endpoint === undefined ? undefined : (await import('../otlp.ts')).createTracer(service, endpoint, logger)

/**
 * Runs a service until SIGINT or SIGTERM. Exits with status 1 when it cannot start, as when Postgres is unavailable
 * for a minute.
 */
export const runService = async (service: Service): Promise<void> => {
  const { app, logger, workers } = service
  closeWithGrace({ delay: 9_500, logger: false }, async ({ signal, err }) => {
    if (err) logger.fatal({ err }, 'process.failed')
    else logger.info({ signal }, 'process.stopping')
    await stopService(service)
    logger.info('process.stopped')
  })
  const fail: Fail = err => {
    logger.fatal({ err }, `process.cannot_start${findRemedy(err, service)}`)
    process.exit(1)
  }
  try {
    const applied = await whenReachable(service.migrate, logger)
    if (applied.length > 0) logger.info({ applied }, 'database.migrated')
    await checkDatabase(service, fail)
    // Where NODE_COMPILE_CACHE is set, the next start is faster, even if this process is killed.
    flushCompileCache()
    await app.listen({ host: service.host, port: service.port })
    for (const worker of workers) worker.start()
  } catch (err) {
    fail(err)
  }
}

type Fail = (err: unknown) => void

/** Checks the database, again and again while an operator must act first: readiness says so meanwhile. */
const checkDatabase = async (service: Service, fail: Fail): Promise<void> => {
  const { pool, logger } = service
  try {
    const bypasses = await whenReachable(() => bypassesRowSecurity(pool), logger)
    if (bypasses) logger.warn('database.row_security_bypassed: connect as an ordinary role')
    const problem = await whenReachable(service.findProblem, logger)
    if (problem !== undefined) throw new CannotStart(problem)
    const missing = await whenReachable(() => listMissingFixes(pool), logger)
    for (const text of missing) logger.warn(`process.outdated: ${text}`)
  } catch (err) {
    if (!(err instanceof UnusableDatabase)) throw err
    setTimeout(() => checkDatabase(service, fail).catch(fail), 1_000).unref()
  }
}

class CannotStart extends Error {
  override name = 'CannotStart'
}

const findRemedy = (err: unknown, { portSetting }: Service): string => {
  if ((err as NodeJS.ErrnoException).code === 'EADDRINUSE') return `: set ${portSetting} to a free port`
  if (err instanceof UnsupportedPostgres || err instanceof CannotStart) return `: ${err.message}`
  return isUnavailable(err) ? ': Postgres cannot be reached' : ''
}

const waitSeconds = { longest: 60, between: 3 }

/** Repeats `action`, which needs Postgres, for a minute while Postgres cannot be reached. */
export const whenReachable = async <Result>(
  action: () => Promise<Result>,
  logger: Pick<Logger, 'warn'>,
  { longest, between } = waitSeconds,
): Promise<Result> => {
  const giveUpAt = performance.now() + longest * 1000
  for (;;)
    try {
      return await action()
    } catch (err) {
      if (!isUnavailable(err) || err instanceof UnusableDatabase || performance.now() > giveUpAt) throw err
      logger.warn({ code: (err as NodeJS.ErrnoException).code }, 'database.waiting: Postgres cannot be reached yet')
      await delay(between * 1000)
    }
}

/**
 * Sets the time after which a stop gives up the requests in flight: the rest of the ten seconds is for storing their
 * outcomes.
 */
const giveUpMilliseconds = 5_000

/** Stops everything, in phases. Logs each failure, goes on with the rest, and then rejects with the first. */
export const stopService = async ({ app, pool, logger, workers, clients }: Service): Promise<void> => {
  const errors: unknown[] = []
  const inParallel = async (actions: readonly (() => unknown)[]): Promise<void> => {
    for (const result of await Promise.allSettled(actions.map(async action => action())))
      if (result.status === 'rejected') errors.push(result.reason)
  }
  const givingUp = setTimeout(() => {
    for (const client of clients) client?.giveUp?.()
  }, giveUpMilliseconds)
  await inParallel([() => app.close(), ...workers.map(worker => () => worker.stop())])
  clearTimeout(givingUp)
  await inParallel(clients.map(client => () => client?.close()))
  // The last response is logged after it is sent.
  await new Promise(setImmediate)
  await inParallel([() => pool.end()])
  for (const err of errors) logger.error({ err }, 'process.stop_failed')
  if (errors.length > 0) throw errors[0]
}
