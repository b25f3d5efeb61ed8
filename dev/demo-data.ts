import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { demoEmail, demoPassword, loadNotifier, loadOrders, readDemoMerchant, type Tokens } from './demo-tenant.ts'
import { NotYet } from './steps.ts'

/** Holds the addresses of a running stack. */
export type Addresses = Readonly<Record<'orders' | 'notifier' | 'simulator', string>>

const findTokensPath = (dataFolder: string): string => join(dataFolder, 'demo-tokens.json')

/** Reads the tokens that `npm start` stores for the demo. Returns undefined before the first start. */
export const readTokens = (dataFolder: string): Promise<Tokens | undefined> =>
  readFile(findTokensPath(dataFolder), 'utf8').then(JSON.parse, () => undefined)

/** Sends a request for tenant demo, a POST if there is a body. Throws an Error with any response but a 2xx. */
export const request = async <Body>(url: string, token?: string, body?: unknown): Promise<Body> => {
  const headers = {
    'x-tenant': 'demo',
    'content-type': 'application/json',
    ...(token && { authorization: `Bearer ${token}` }),
  }
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(url, { headers, ...init }).catch(() => {
    throw new Error(`Nothing listens at ${url}: run npm start or docker compose up in another terminal first.`)
  })
  const text = await response.text()
  if (response.status === 503) throw new NotYet(`${url} responded with 503: ${text}`)
  if (!response.ok) throw new Error(`${url} responded with ${response.status}: ${text}`)
  return JSON.parse(text)
}

/**
 * Applies the example files once, stores the demo's tokens in the data folder, and syncs the templates of the notifier
 * at `notifierUrl`.
 */
export const loadDemo = async (dataFolder: string, notifierUrl: string): Promise<Tokens> => {
  const kept = await readTokens(dataFolder)
  const [ofOrders, ofNotifier] = await Promise.all([loadOrders(kept), loadNotifier(kept)])
  const tokens = { ...ofOrders, ...ofNotifier }
  await mkdir(dataFolder, { recursive: true })
  await writeFile(findTokensPath(dataFolder), JSON.stringify(tokens), { mode: 0o600 })
  await request(`${notifierUrl}/api/templates/sync`, tokens.portal.token, {})
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
desk        ${orders}/desk/   company demo, and the merchant's login
merchant    ${email}   password ${password}
token       ${merchant.token}
staff       ${staff.token}   for orders
            ${portal.token}   for the notifier
login       ${demoEmail('admin')}   password ${demoPassword}   for staff, in both services

Send a batch of 25 orders:

${request.join(lineEnd)}

courier is ready
`)
}
