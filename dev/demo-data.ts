import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAdmin } from './service-process.ts'
import { root } from './settings.ts'

/** The addresses of a running stack. */
export type Addresses = Readonly<Record<'orders' | 'notifier' | 'simulator', string>>

interface Token {
  id: string
  token: string
}

/** Of the demo's first merchant, and of staff of either service. */
interface Tokens {
  merchant: Token
  staff: Token
  portal: Token
}

const tokensPath = (dataFolder: string): string => join(dataFolder, 'demo-tokens.json')

const readJson = async (path: string) => JSON.parse(await readFile(path, 'utf8'))

/** The first merchant of examples/demo-tenant.json. */
export const readDemoMerchant = async (): Promise<{ email: string; password: string }> =>
  (await readJson(join(root, 'examples/demo-tenant.json'))).merchants[0]

/** The tokens that `npm start` stores for the demo; undefined before the first start. */
export const readTokens = (dataFolder: string): Promise<Tokens | undefined> =>
  readJson(tokensPath(dataFolder)).catch(() => undefined)

/** The tokens of these holders. Those that are there stay; without any, the example file is applied first. */
const provide = async <Name extends keyof Tokens>(
  service: 'orders' | 'notifier',
  file: string,
  kept: Tokens | undefined,
  holders: Record<Name, readonly string[]>,
) => {
  const listed = (await runAdmin(service, ['token', 'list'])) as { token_id: string; revoked_at: string | null }[]
  if (listed.length === 0) await runAdmin(service, ['apply', join(root, 'examples', file)])
  const isLive = (token: Token | undefined) => listed.some(row => row.token_id === token?.id && !row.revoked_at)
  const tokens: Partial<Record<Name, Token>> = {}
  for (const name of Object.keys(holders) as Name[])
    tokens[name] = isLive(kept?.[name])
      ? kept?.[name]
      : ((await runAdmin(service, ['token', 'create', '--tenant', 'demo', ...holders[name]])) as Token)
  return tokens as Record<Name, Token>
}

/** The demo's staff, one for each role. The password is public: it protects nothing. */
export const demoPassword = 'courier-demo'
const demoStaff = [
  { role: 'viewer', name: 'Saman Fernando' },
  { role: 'dispatcher', name: 'Nimali Silva' },
  { role: 'messenger', name: 'Tharindu Jayasuriya' },
  { role: 'admin', name: 'Dilani Perera' },
]
export const demoEmail = (role: string): string => `${role}@courier.example`

/** Those who are there keep their roles and passwords. */
const provideStaff = async (): Promise<void> => {
  const listed = (await runAdmin('orders', ['staff', 'list', '--tenant', 'demo'])) as { email: string }[]
  const env = { ...process.env, STAFF_PASSWORD: demoPassword }
  const missing = demoStaff.filter(({ role }) => !listed.some(row => row.email === demoEmail(role)))
  await Promise.all(
    missing.map(({ role, name }) => {
      const fields = ['--tenant', 'demo', '--email', demoEmail(role), '--name', name, '--role', role]
      return runAdmin('orders', ['staff', 'add', ...fields], { env })
    }),
  )
}

const syncTemplates = async (notifier: string, token: string): Promise<void> => {
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const response = await fetch(`${notifier}/api/templates/sync`, { method: 'POST', headers, body: '{}' })
  if (!response.ok) throw new Error(`The demo templates were not synced: ${await response.text()}`)
}

/** Applies the example files once, stores the demo's tokens in the data folder, and syncs the templates of the notifier there. */
export const loadDemo = async (dataFolder: string, notifier: string): Promise<Tokens> => {
  const kept = await readTokens(dataFolder)
  const { email } = await readDemoMerchant()
  const staff = ['--staff', 'Demo portal']
  const [ofOrders, ofNotifier] = await Promise.all([
    provide('orders', 'demo-tenant.json', kept, { merchant: ['--merchant', email], staff }).then(async tokens => {
      await provideStaff()
      return tokens
    }),
    provide('notifier', 'demo-notifier.json', kept, { portal: staff }),
  ])
  const tokens = { ...ofOrders, ...ofNotifier }
  await mkdir(dataFolder, { recursive: true })
  await writeFile(tokensPath(dataFolder), JSON.stringify(tokens), { mode: 0o600 })
  await syncTemplates(notifier, tokens.portal.token)
  return tokens
}

/** Prints addresses, tokens and a request to paste, whose lines end with `lineEnd`. */
export const printDemo = async (
  { orders, notifier, simulator }: Addresses,
  { merchant, staff, portal }: Tokens,
  { batch, lineEnd }: { batch: string; lineEnd: string },
): Promise<void> => {
  const { email, password } = await readDemoMerchant()
  const request = [
    `curl -sS ${orders}/api/public/merchant/order/bulk`,
    `-H 'Authorization: Bearer ${merchant.token}' -H 'X-tenant: demo'`,
    `-H 'Content-Type: application/json' --data '@${batch}'`,
  ]
  process.stdout.write(`
orders      ${orders}   try it: ${orders}/docs
notifier    ${notifier}   try it: ${notifier}/docs
simulator   ${simulator}   the customers' phones
console     ${notifier}/portal/   company demo, and the login below
merchant    ${email}   password ${password}
token       ${merchant.token}
staff       ${staff.token}   of orders
            ${portal.token}   of the notifier
login       ${demoEmail('admin')}   password ${demoPassword}   of staff, for both

Send a batch of 25 orders:

${request.join(lineEnd)}

courier is ready
`)
}
