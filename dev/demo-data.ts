import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAdmin } from './service-process.ts'
import { root } from './settings.ts'

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

/** Applies the example files once, and stores the demo's tokens in the data folder. */
export const loadDemo = async (dataFolder: string): Promise<Tokens> => {
  const kept = await readTokens(dataFolder)
  const { email } = await readDemoMerchant()
  const staff = ['--staff', 'Demo portal']
  const [ofOrders, ofNotifier] = await Promise.all([
    provide('orders', 'demo-tenant.json', kept, { merchant: ['--merchant', email], staff }),
    provide('notifier', 'demo-notifier.json', kept, { portal: staff }),
  ])
  const tokens = { ...ofOrders, ...ofNotifier }
  await mkdir(dataFolder, { recursive: true })
  await writeFile(tokensPath(dataFolder), JSON.stringify(tokens), { mode: 0o600 })
  return tokens
}
