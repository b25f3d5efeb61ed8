import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startOwnPostgres } from '../dev/own-postgres.ts'
import { findFreePort } from '../dev/ports.ts'
import { runAdmin } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { toTeardown } from '../dev/tool.ts'
import { control } from '../trust/courier.ts'
import { accessToken, appSecret, phoneNumberIds, type Tenant } from './notifier-messages.ts'
import { log, startService } from './service.ts'

const run = promisify(execFile)

const packageFolders = ['shared', 'services/orders', 'services/notifier', 'simulator']

/** Returns true if every package that the code in `folder` depends on is installed here, in the same version. */
const hasSamePackages = async (folder: string): Promise<boolean> => {
  const readJson = async (...path: string[]) => JSON.parse(await readFile(join(...path), 'utf8'))
  const isInstalled = async (parent: string, name: string, version: string): Promise<boolean> => {
    const inModules = (place: string) => readJson(root, place, 'node_modules', name, 'package.json')
    const installed = await inModules(parent)
      .catch(() => inModules(''))
      .catch(() => undefined)
    return installed?.version === version
  }
  const checks = packageFolders.map(async parent => {
    const { dependencies } = await readJson(folder, parent, 'package.json')
    const packages = Object.entries<string>(dependencies).filter(([name]) => !name.startsWith('@courier/'))
    return Promise.all(packages.map(([name, version]) => isInstalled(parent, name, version)))
  })
  return (await Promise.all(checks)).flat().every(Boolean)
}

/** Links our packages, or those of `owner`, into `folder`, except the workspace packages, which it has itself. */
export const linkPackages = async (folder: string, owner = root): Promise<void> => {
  for (const parent of ['', ...packageFolders]) {
    const [from, to] = [join(owner, parent, 'node_modules'), join(folder, parent, 'node_modules')]
    if (!existsSync(from)) continue
    await mkdir(to)
    for (const name of await readdir(from))
      if (name !== '@courier') await symlink(join(from, name), join(to, name))
      // Relative links in @courier then lead to the packages of `folder`.
      else await cp(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
  }
}

/**
 * Installs the packages with which a commit runs, once for all its folders, below our own. Returns the folder that has
 * them.
 */
const installPackages = async (commit: string): Promise<string> => {
  const installed = join(root, 'node_modules/.cache', `packages-${commit}`)
  if (existsSync(installed)) return installed
  log(`Installing ${commit} ...`)
  const own = `${installed}-${process.pid}`
  try {
    await run('git', ['clone', '--quiet', '--shared', '--no-checkout', root, own])
    await run('git', ['checkout', '--quiet', '--detach', commit], { cwd: own })
    await run(process.execPath, ['dev/install.mjs', '--omit=dev'], { cwd: own })
    // Another process may have installed them meanwhile.
    await rename(own, installed).catch(() => {})
  } finally {
    await rm(own, { recursive: true, force: true })
  }
  return installed
}

/**
 * Makes a folder with the code of a commit and its packages; `cleanUps` deletes the folder. The first one takes half a
 * minute where the packages differ from ours.
 */
export const checkOut = async (commit: string, cleanUps: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-version-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  const git = (...words: string[]) => run('git', words, { cwd: root })
  await git('worktree', 'add', '--detach', '--force', folder, commit)
  cleanUps.defer(async () => {
    await git('worktree', 'remove', '--force', folder)
  })
  await linkPackages(folder, (await hasSamePackages(folder)) ? root : await installPackages(commit))
  return folder
}

/** Describes a service of one version as it runs in production, on a Postgres of its own. */
export interface Side {
  url: string
  pid: number | undefined
  /** Carries the token of a merchant to orders; empty for the notifier. */
  headers: Record<string, string>
  /** Authorizes staff of orders; empty for the notifier. */
  staffToken: string
  /** Connects as the role of the service. */
  databaseUrl: string
  superuser: pg.Client
}

/** Names the service to start. The bench uses the code in `folder` only through its operator's commands and HTTP. */
interface SideOptions {
  service: 'orders' | 'notifier'
  folder: string
  apiUrl: string
  profileFolder: string | undefined
}

export const startSide = async (options: SideOptions, cleanUps: AsyncDisposableStack): Promise<Side> => {
  const { service, folder, profileFolder } = options
  const { databaseUrl, superuser, settings, admin } = await prepareSide(options, cleanUps)
  const access = service === 'orders' ? await provisionOrders(admin, folder) : await provisionNotifier(admin, superuser)
  const [file, portSetting] = [join(folder, `services/${service}/main.ts`), `${service.toUpperCase()}_PORT`]
  const { url, pid } = await startService({ file, portSetting, environment: settings, profileFolder }, cleanUps)
  return { url, pid, ...access, databaseUrl, superuser }
}

/** Creates a database of orders with the demo's tenant, for bare statements: no service uses it. */
export const prepareBareOrders = async (cleanUps: AsyncDisposableStack) => {
  const side = { service: 'orders', folder: root, apiUrl: '' } as const
  const { databaseUrl, superuser, admin } = await prepareSide(side, cleanUps)
  const { tenant } = await applyDemo(admin, root)
  return { tenant: tenant.id, databaseUrl, superuser }
}

const prepareSide = async (
  { service, folder, apiUrl }: Omit<SideOptions, 'profileFolder'>,
  cleanUps: AsyncDisposableStack,
) => {
  const { databaseUrl, superuser, environment } = await startDatabase(service, cleanUps)
  const settings = {
    ...environment,
    ...limits,
    SERVICE_TOKEN: randomHex(),
    ...(service === 'orders'
      ? // Without a notifier the events wait in the outbox.
        { NOTIFIER_URL: `http://127.0.0.1:${await findFreePort()}` }
      : { CREDENTIALS_KEYS: `bench:${randomBytes(32).toString('base64')}`, MESSAGING_API_URL: apiUrl }),
  }
  const env = { ...process.env, ...settings }
  const admin: Admin = (words, input) => runAdmin(service, words, { env, folder, ...(input && { input }) })
  await admin(['migrate'])
  return { databaseUrl, superuser, settings, admin }
}

/** Starts a Postgres with a service's database. Returns the addresses of its roles and a superuser's connection. */
const startDatabase = async (name: 'orders' | 'notifier', cleanUps: AsyncDisposableStack) => {
  // Each baseline keeps its connections open beside those of the service.
  const { buildAddress } = await startOwnPostgres(toTeardown(cleanUps), name, { max_connections: '400' })
  const superuser = new pg.Client({ connectionString: buildAddress('postgres') })
  superuser.on('error', error => log(`the connection to Postgres broke: ${error.message}`))
  await superuser.connect()
  cleanUps.defer(() => superuser.end())
  const setting = name.toUpperCase()
  const environment = {
    [`${setting}_DATABASE_URL`]: buildAddress(name),
    [`${setting}_MIGRATE_DATABASE_URL`]: buildAddress(`${name}_owner`),
  }
  return { databaseUrl: buildAddress(name), superuser, environment }
}

type Admin = (words: string[], input?: string) => Promise<unknown>

const limits = {
  // Hides the expected warnings about the unavailable notifier.
  LOG_LEVEL: 'error',
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  MAX_ORDERS_PER_BATCH: '5000',
  RECIPIENT_PAUSE_SECONDS: '0',
}

type Access = Pick<Side, 'headers' | 'staffToken'>

/** Applies the demo's file. Returns its content. */
const applyDemo = async (admin: Admin, folder: string) => {
  const path = join(folder, 'examples/demo-tenant.json')
  await admin(['apply', path])
  return JSON.parse(await readFile(path, 'utf8'))
}

const provisionOrders = async (admin: Admin, folder: string): Promise<Access> => {
  const { tenant, merchants } = await applyDemo(admin, folder)
  const createToken = async (...holder: string[]) =>
    ((await admin(['token', 'create', '--tenant', tenant.id, ...holder])) as { token: string }).token
  const authorization = `Bearer ${await createToken('--merchant', merchants[0].email)}`
  const headers = { authorization, 'x-tenant': tenant.id, 'content-type': 'application/json' }
  return { headers, staffToken: await createToken('--staff', 'Ruwan') }
}

const provisionNotifier = async (admin: Admin, superuser: pg.Client): Promise<Access> => {
  for (const tenant of ['large', 'small'] as const) await applyChannel(admin, tenant)
  await superuser.query('update channels set rate = 1000000')
  return { headers: {}, staffToken: '' }
}

const applyChannel = async (admin: Admin, tenant: Tenant): Promise<void> => {
  const secrets = { access_token: accessToken, app_secret: appSecret, verify_token: randomHex() }
  const channel = { phone_number_id: phoneNumberIds[tenant], name: 'Bench', plan: 'paid', default: true, ...secrets }
  await admin(['apply', '-'], JSON.stringify({ tenant: { id: tenant, country: 'LK' }, channels: [channel] }))
}

/** Starts a simulator that accepts every message and sends no webhooks. Returns its URL. */
export const startSimulator = async (cleanUps: AsyncDisposableStack): Promise<string> => {
  const environment = { DEMO_ACCESS_TOKEN: accessToken, SIMULATOR_THROUGHPUT_PER_SECOND: '0', WEBHOOK_URL: 'none' }
  const { url } = await startService(
    { file: 'simulator/main.ts', portSetting: 'SIMULATOR_PORT', environment },
    cleanUps,
  )
  await control(url, `/numbers/${phoneNumberIds.small}`, {}, 'PUT')
  return url
}

const randomHex = (): string => randomBytes(32).toString('hex')
