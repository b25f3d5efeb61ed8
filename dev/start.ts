import './running.mjs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { demonstration } from '@courier/shared/demonstration.ts'
import { prepareDataFolder } from './data-folder.ts'
import { closeOtherDatabases, createDatabaseWithRoles } from './databases.ts'
import { type Addresses, loadDemo, printDemo } from './demo-data.ts'
import { refuseTakenPort, toAddress } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { type Environment, ServiceProcess } from './service-process.ts'
import {
  embeddedDatabases,
  keepCompiled,
  makeEmbeddedEnvironment,
  provisionSecrets,
  readDevSettings,
  root,
  serviceFlags,
} from './settings.ts'
import { createSteps, giveUpSeconds, NotYet } from './steps.ts'

const settings = readDevSettings()
keepCompiled()
const cleanUps: (() => Promise<unknown>)[] = []

/** Stops everything that was started, in reverse order. A repeated call has nothing left to stop. */
const stopAll = async (): Promise<void> => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp()
}

const addresses: Addresses = {
  orders: toAddress(settings.HOST, settings.ORDERS_PORT),
  notifier: toAddress(settings.HOST, settings.NOTIFIER_PORT),
  simulator: toAddress(settings.HOST, settings.SIMULATOR_PORT),
}

/** Lets dev/running.mjs refuse a second start on the data folder, which would stop the first start's Postgres. */
const lockFolder = async (): Promise<void> => {
  const path = join(settings.dataFolder, 'start.pid')
  const postgres = `127.0.0.1:${settings.EMBEDDED_POSTGRES_PORT}`
  const where = Object.entries({ ...addresses, postgres }).map(([name, url]) => `  ${name.padEnd(12)}${url}`)
  await writeFile(path, [process.pid, ...where].join('\n'))
  cleanUps.push(() => rm(path, { force: true }))
}

/** Lists the origins of a service on this machine: by address and by name. */
const listOrigins = (url: string): string => `${url},${url.replace('127.0.0.1', 'localhost')}`

/** Makes the simulator the messaging API, with the secrets of its demo account. Existing variables win. */
const buildDemoEnvironment = (): Record<string, string> => ({
  MESSAGING_API_URL: addresses.simulator,
  WEBHOOK_URL: `${addresses.notifier}/webhooks/messaging`,
  WEBHOOK_PRIVATE_ADDRESSES: 'true',
  DEMO_ACCESS_TOKEN: demonstration.accessToken,
  DEMO_APP_SECRET: demonstration.appSecret,
  ORDERS_PUBLIC_URL: addresses.orders,
  PORTAL_ORIGINS: listOrigins(addresses.notifier),
  ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined)),
})

const inStep = createSteps(line => process.stderr.write(`${line}\n`))
const seeLog = `See the log in ${settings.dataFolder}, end what else keeps this machine busy, and run npm start again.`
const seeLines = 'See the lines above, end what else keeps this machine busy, and run npm start again.'

const startEmbeddedPostgres = async (): Promise<void> => {
  const folder = join(settings.dataFolder, 'postgres')
  const starting = startPostgres({ folder, port: settings.EMBEDDED_POSTGRES_PORT })
  cleanUps.push(async () => (await starting.catch(() => undefined))?.stop())
  const postgres = await inStep({ doing: 'starting Postgres', remedy: seeLog }, () => starting)
  await inStep({ doing: 'creating the databases', remedy: seeLog }, async () => {
    for (const name of embeddedDatabases) await createDatabaseWithRoles(postgres.url, name)
    await closeOtherDatabases(postgres.url)
  })
}

const startService = async (name: keyof Addresses, folder: string): Promise<void> => {
  const options = { flags: serviceFlags, isShown: true }
  const service = new ServiceProcess(join(folder, 'main.ts'), addresses[name], process.env as Environment, options)
  service.start()
  cleanUps.push(() => service.stop('SIGTERM'))
  service.ended().then(status => {
    if (!isStopping) process.stderr.write(`${name} ended (${status}): everything stops.\n`)
    return stop(1)
  })
  const untilReady = () =>
    service.ready(giveUpSeconds).catch(error => {
      throw service.isRunning ? new NotYet(error.message) : error
    })
  await inStep({ doing: `starting ${name}`, remedy: seeLines }, untilReady)
}

let isStopping = false

/** Acts only on the first call: each service that stops calls this function again. */
const stop = async (status: number): Promise<void> => {
  if (isStopping) return
  isStopping = true
  await stopAll()
  process.exit(status)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(0))

try {
  await prepareDataFolder(settings.dataFolder)
  await lockFolder()
  for (const setting of ['ORDERS_PORT', 'NOTIFIER_PORT', 'SIMULATOR_PORT'] as const)
    await refuseTakenPort(settings[setting], settings.HOST, setting)
  // Keeps a terminal quiet: its services log only warnings and errors.
  if (process.stdout.isTTY) process.env.LOG_LEVEL ||= 'warn'
  const embedded = makeEmbeddedEnvironment(settings.EMBEDDED_POSTGRES_PORT)
  if (Object.keys(embedded).length > 0) await startEmbeddedPostgres()
  Object.assign(process.env, buildDemoEnvironment(), embedded, provisionSecrets(settings.dataFolder))
  await Promise.all([
    startService('orders', 'services/orders'),
    startService('notifier', 'services/notifier'),
    startService('simulator', 'simulator'),
  ])
  const tokens = await inStep({ doing: 'loading the demo', remedy: seeLines }, () =>
    loadDemo(settings.dataFolder, addresses.notifier),
  )
  // Lets the services log first: the last line says that everything is ready.
  await delay(200)
  await printDemo(addresses, tokens, { batch: join(root, 'examples/batch.json'), lineEnd: ' \\\n  ' })
} catch (error) {
  if (!isStopping) process.stderr.write(`${(error as Error).message}\n`)
  await stop(1)
}
