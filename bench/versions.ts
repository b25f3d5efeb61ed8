import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../dev/ports.ts'
import { runAdmin } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { tell } from './bench.ts'
import type { EmptiedGround } from './bulk-calls.ts'
import { startDatabase } from './database.ts'
import { findTables, limits } from './ground.ts'
import { accessToken, appSecret, numberOf, type Tenant } from './notifier-messages.ts'
import { startService } from './service.ts'

const run = promisify(execFile)

const packageFolders = ['shared', 'services/orders', 'services/notifier', 'simulator']

/** Returns true if every package that the code in `folder` depends on is installed here, in the same version. */
const hasSamePackages = async (folder: string): Promise<boolean> => {
  const read = async (from: string, kind: 'dependencies' | 'devDependencies', folders: string[]): Promise<string[]> => {
    const files = folders.map(async name => JSON.parse(await readFile(join(from, name, 'package.json'), 'utf8')))
    return (await Promise.all(files)).flatMap(({ [kind]: packages = {} }) =>
      Object.entries(packages).map(([name, version]) => `${name} ${version}`),
    )
  }
  // Packages that only the last release needs are among our devDependencies.
  const ours = [read(root, 'dependencies', packageFolders), read(root, 'devDependencies', ['.'])]
  const installed = new Set((await Promise.all(ours)).flat())
  return (await read(folder, 'dependencies', packageFolders)).every(dependency => installed.has(dependency))
}

/** Links our packages into `folder`, all but its own. */
const linkPackages = async (folder: string): Promise<void> => {
  for (const parent of ['', ...packageFolders]) {
    const [from, to] = [join(root, parent, 'node_modules'), join(folder, parent, 'node_modules')]
    if (!existsSync(from)) continue
    await mkdir(to)
    for (const name of await readdir(from))
      if (name !== '@courier') await symlink(join(from, name), join(to, name))
      // Its links are relative.
      else await cp(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
  }
}

/**
 * Makes a folder with the code of a commit and its packages; removed afterwards. Takes half a minute where they differ from
 * ours.
 */
export const checkOut = async (commit: string, cleanUps: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-version-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  const git = (...words: string[]) => run('git', words, { cwd: root })
  await git('worktree', 'add', '--detach', '--force', folder, commit)
  cleanUps.defer(async () => {
    await git('worktree', 'remove', '--force', folder)
  })
  if (await hasSamePackages(folder)) await linkPackages(folder)
  else {
    tell(`Installing ${commit} ...`)
    await run(process.execPath, ['dev/install.mjs'], { cwd: folder })
  }
  return folder
}

/** Starts the services of one version as they run in production, each on a Postgres of its own. */
export interface Version {
  ordersUrl: string
  notifierUrl: string
  orders: EmptiedGround & { pid: number }
  notifier: Pick<EmptiedGround, 'superuser'> & { pid: number }
}

/** Uses only the version's own operator's commands and HTTP: only these must be the same in both. */
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
  const admin = (...words: string[]) => runAdmin('orders', words, { env: { ...process.env, ...environment }, folder })
  const path = join(folder, 'examples/demo-tenant.json')
  const { tenant, merchants } = JSON.parse(await readFile(path, 'utf8'))
  await admin('migrate')
  await admin('apply', path)
  const words = ['token', 'create', '--tenant', tenant.id, '--merchant', merchants[0].email]
  const { token } = (await admin(...words)) as { token: string }
  const settings = { ...limits, SERVICE_TOKEN: randomHex(), NOTIFIER_URL: `http://127.0.0.1:${await freePort()}` }
  const file = join(folder, 'services/orders/main.ts')
  const service = { file, portSetting: 'ORDERS_PORT', environment: { ...environment, ...settings }, profileFolder }
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant.id, 'content-type': 'application/json' }
  const { url, pid } = await startService(service, cleanUps)
  return { ordersUrl: url, orders: { pid, headers, superuser, tablesBeside: await findTables(superuser) } }
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
  const admin = (...words: string[]) => runAdmin('notifier', words, { env: { ...process.env, ...settings }, folder })
  await admin('migrate')
  for (const tenant of ['large', 'small'] as const) await applyChannel(admin, tenant, cleanUps)
  await superuser.query('update channels set rate = 1000000')
  const file = join(folder, 'services/notifier/main.ts')
  const { url, pid } = await startService(
    { file, portSetting: 'NOTIFIER_PORT', environment: settings, profileFolder },
    cleanUps,
  )
  return { notifierUrl: url, notifier: { pid, superuser } }
}

const applyChannel = async (
  admin: (...words: string[]) => Promise<unknown>,
  tenant: Tenant,
  cleanUps: AsyncDisposableStack,
) => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-channel-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'notifier.json')
  const secrets = { access_token: accessToken, app_secret: appSecret, verify_token: randomHex() }
  const channel = { phone_number_id: numberOf[tenant], name: 'Bench', plan: 'paid', default: true, ...secrets }
  await writeFile(path, JSON.stringify({ tenant: { id: tenant, country: 'LK' }, channels: [channel] }))
  await admin('apply', path)
}

const randomHex = (): string => randomBytes(32).toString('hex')
