import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { closeOtherDatabases, createDatabaseWithRoles } from './databases.ts'
import { loadDemoStaff } from './demo-staff.ts'
import { loadDemoTenant } from './demo-tenant.ts'
import { addressOf, refuseTakenPort } from './ports.ts'
import { startPostgres } from './postgres.ts'
import {
  embeddedDatabases,
  embeddedEnvironment,
  keepCompiled,
  readDevSettings,
  root,
  secretsEnvironment,
  serviceFlags,
} from './settings.ts'

const settings = readDevSettings()
keepCompiled()
const cleanUps: (() => Promise<unknown>)[] = []

/** Stops what was started, last first. Twice is once. */
const stopAll = async (): Promise<void> => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp()
}

/** One start at a time for a data folder: a second one would stop the first one's Postgres when it ends. */
const lockFolder = async (): Promise<void> => {
  const path = join(settings.dataFolder, 'start.pid')
  await mkdir(settings.dataFolder, { recursive: true })
  const pid = Number(await readFile(path, 'utf8').catch(() => '0'))
  if (pid > 0 && isStart(pid))
    throw new Error(`npm start runs already for ${settings.dataFolder} (process ${pid}). Stop it, or set DATA_DIR.`)
  await writeFile(path, String(process.pid))
  cleanUps.push(() => rm(path, { force: true }))
}

const isStart = (pid: number): boolean => {
  try {
    return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes('dev/start.ts')
  } catch {
    return false
  }
}

/** The simulator in place of the messaging API, with the secrets of its demo account. What is set already wins. */
const demoEnvironment = (): Record<string, string> => ({
  MESSAGING_API_URL: addressOf(settings.HOST, settings.SIMULATOR_PORT),
  WEBHOOK_URL: `${addressOf(settings.HOST, settings.NOTIFIER_PORT)}/webhooks/messaging`,
  DEMO_ACCESS_TOKEN: 'demo-access-token',
  DEMO_APP_SECRET: 'demo-app-secret',
  ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined)),
})

const syncTemplates = async (notifier: string, token: string): Promise<void> => {
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const answer = await fetch(`${notifier}/api/templates/sync`, { method: 'POST', headers, body: '{}' })
  if (!answer.ok) throw new Error(`The demo templates were not synced: ${await answer.text()}`)
}

const startEmbeddedPostgres = async (): Promise<void> => {
  const folder = join(settings.dataFolder, 'postgres')
  const postgres = await startPostgres({ folder, port: settings.EMBEDDED_POSTGRES_PORT })
  cleanUps.push(postgres.stop)
  for (const name of embeddedDatabases) await createDatabaseWithRoles(postgres.url, name)
  await closeOtherDatabases(postgres.url)
}

const startService = async (name: string, folder: string, port: number): Promise<string> => {
  const child = spawn(process.execPath, [...serviceFlags, join(root, folder, 'main.ts')], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  cleanUps.push(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const address = addressOf(settings.HOST, port)
  await waitUntilReady(name, `${address}/health/ready`, child)
  ended.then(([status, signal]) => {
    if (!isStopping) process.stderr.write(`${name} ended (${signal ?? status}): all of it stops.\n`)
    return stop(1)
  })
  return address
}

const waitUntilReady = async (name: string, url: string, child: ChildProcess): Promise<void> => {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended: see its log above.`)
    if (
      await fetch(url).then(
        answer => answer.ok,
        () => false,
      )
    )
      return
    await delay(100)
  }
  throw new Error(`${name} was not ready after a minute.`)
}

let isStopping = false

/** The first reason to stop counts: what it stops would be one more. */
const stop = async (status: number): Promise<void> => {
  if (isStopping) return
  isStopping = true
  await stopAll()
  process.exit(status)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(0))

try {
  for (const setting of ['ORDERS_PORT', 'NOTIFIER_PORT', 'SIMULATOR_PORT'] as const)
    await refuseTakenPort(settings[setting], settings.HOST, setting)
  await lockFolder()
  const embedded = embeddedEnvironment(settings.EMBEDDED_POSTGRES_PORT)
  if (Object.keys(embedded).length > 0) await startEmbeddedPostgres()
  Object.assign(process.env, demoEnvironment(), embedded, secretsEnvironment(settings.dataFolder))
  const [orders, notifier, simulator] = await Promise.all([
    startService('orders', 'services/orders', settings.ORDERS_PORT),
    startService('notifier', 'services/notifier', settings.NOTIFIER_PORT),
    startService('simulator', 'simulator', settings.SIMULATOR_PORT),
  ])
  const { email, password, token, staffToken } = await loadDemoTenant(settings.dataFolder)
  const portalToken = await loadDemoStaff(settings.dataFolder)
  await syncTemplates(notifier, portalToken)
  // The services' log lines about it come first: the last line says that all is ready.
  await delay(200)
  process.stdout.write(`
orders      ${orders}   calls to try: ${orders}/docs
notifier    ${notifier}   calls to try: ${notifier}/docs
simulator   ${simulator}   the customers' phones
merchant    ${email}   password ${password}
token       ${token}
staff       ${staffToken}   of orders
            ${portalToken}   of the notifier

Send a batch of 25 orders:

curl -sS ${orders}/api/public/merchant/order/bulk \\
  -H 'Authorization: Bearer ${token}' -H 'X-tenant: demo' \\
  -H 'Content-Type: application/json' --data '@${join(root, 'examples/batch.json')}'

courier is ready
`)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  await stop(1)
}
