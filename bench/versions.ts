import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../dev/ports.ts'
import { runAdmin } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { tell } from './bench.ts'
import type { EmptiedGround } from './bulk-calls.ts'
import { startDatabase } from './database.ts'
import { limits } from './ground.ts'
import { accessToken, appSecret, numberOf } from './notifier-messages.ts'
import { startService } from './service.ts'

const run = promisify(execFile)

/** A folder with the code of a commit and its packages; gone afterwards. Takes half a minute. */
export const checkOut = async (commit: string, cleanUps: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-version-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  const git = (...words: string[]) => run('git', words, { cwd: root })
  tell(`Installing ${commit} ...`)
  await git('worktree', 'add', '--detach', '--force', folder, commit)
  cleanUps.defer(async () => {
    await git('worktree', 'remove', '--force', folder)
  })
  await run(process.execPath, ['dev/install.mjs'], { cwd: folder })
  return folder
}

/** The services of one version as they run in production, each on a Postgres of its own. */
export interface Version {
  ordersUrl: string
  notifierUrl: string
  orders: EmptiedGround
  notifier: Pick<EmptiedGround, 'superuser'>
}

/** Everything goes through the version's own operator's commands: only these and HTTP must be the same in both. */
export const startVersion = async (
  folder: string,
  apiUrl: string,
  cleanUps: AsyncDisposableStack,
  profileFolder?: string,
): Promise<Version> => ({
  ...(await startOrders(folder, cleanUps, profileFolder)),
  ...(await startNotifier(folder, apiUrl, cleanUps, profileFolder)),
})

const startOrders = async (folder: string, cleanUps: AsyncDisposableStack, profileFolder: string | undefined) => {
  const { superuser, environment } = await startDatabase('orders', cleanUps)
  const admin = (...words: string[]) => runAdmin('orders', words, { ...process.env, ...environment }, folder)
  const path = join(root, 'examples/demo-tenant.json')
  const { tenant, merchants } = JSON.parse(await readFile(path, 'utf8'))
  await admin('migrate')
  await admin('apply', path)
  const words = ['token', 'create', '--tenant', tenant.id, '--merchant', merchants[0].email]
  const { token } = (await admin(...words)) as { token: string }
  const settings = { ...limits, SERVICE_TOKEN: randomHex(), NOTIFIER_URL: `http://127.0.0.1:${await freePort()}` }
  const file = join(folder, 'services/orders/main.ts')
  const service = { file, portSetting: 'ORDERS_PORT', environment: { ...environment, ...settings }, profileFolder }
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant.id, 'content-type': 'application/json' }
  const { url } = await startService(service, cleanUps)
  return { ordersUrl: url, orders: { headers, superuser, tablesBeside: ['order_events', 'outbox'] } }
}

const startNotifier = async (
  folder: string,
  apiUrl: string,
  cleanUps: AsyncDisposableStack,
  profileFolder: string | undefined,
) => {
  const { superuser, environment } = await startDatabase('notifier', cleanUps)
  const settings = {
    ...environment,
    SERVICE_TOKEN: randomHex(),
    RECIPIENT_PAUSE_SECONDS: '0',
    ADDRESS_LIMIT_PER_MINUTE: '1000000000',
    CREDENTIALS_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    MESSAGING_API_URL: apiUrl,
  }
  const admin = (...words: string[]) => runAdmin('notifier', words, { ...process.env, ...settings }, folder)
  await admin('migrate')
  await applyChannel(admin, cleanUps)
  await superuser.query('update channels set rate = 1000000')
  const file = join(folder, 'services/notifier/main.ts')
  const { url } = await startService(
    { file, portSetting: 'NOTIFIER_PORT', environment: settings, profileFolder },
    cleanUps,
  )
  return { notifierUrl: url, notifier: { superuser } }
}

const applyChannel = async (admin: (...words: string[]) => Promise<unknown>, cleanUps: AsyncDisposableStack) => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-channel-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'notifier.json')
  const secrets = { access_token: accessToken, app_secret: appSecret, verify_token: randomHex() }
  const channel = { phone_number_id: numberOf.large, name: 'Bench', plan: 'paid', default: true, ...secrets }
  await writeFile(path, JSON.stringify({ tenant: { id: 'large', country: 'LK' }, channels: [channel] }))
  await admin('apply', path)
}

const randomHex = (): string => randomBytes(32).toString('hex')
