import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createPool } from '@courier/shared/database.ts'
import { createTokenFor, listTokens } from '../services/orders/access/token-commands.ts'
import { applyTenant } from '../services/orders/provisioning/apply.ts'
import { checkFile } from '../services/orders/provisioning/check-file.ts'
import { root } from './settings.ts'

export interface DemoLogin {
  email: string
  password: string
  token: string
}

const tokenPath = (dataFolder: string): string => join(dataFolder, 'demo-token.json')

/** Applies examples/demo-tenant.json once, and keeps one token of its first merchant in the data folder. */
export const loadDemoTenant = async (dataFolder: string): Promise<DemoLogin> => {
  const checked = checkFile(JSON.parse(await readFile(join(root, 'examples/demo-tenant.json'), 'utf8')))
  if (checked.kind === 'refused') throw new Error(`examples/demo-tenant.json: ${JSON.stringify(checked.faults)}`)
  const { file } = checked
  const merchant = file.merchants[0]
  if (!merchant) throw new Error('examples/demo-tenant.json has no merchant')
  const pool = createPool({ url: process.env.ORDERS_DATABASE_URL ?? '', name: 'demo tenant', connections: 2 })
  try {
    const { rowCount } = await pool.query('select 1 from tenants where tenant_id = $1', [file.tenant.id])
    if (!rowCount) await applyTenant(pool, file, false)
    const kept = await readToken(dataFolder)
    const live = (await listTokens(pool, file.tenant.id)).filter(token => !token.revoked_at)
    const token = live.some(({ token_id }) => token_id === kept?.id)
      ? kept
      : await createTokenFor(pool, { tenant: file.tenant.id, merchant: merchant.email })
    await mkdir(dataFolder, { recursive: true })
    await writeFile(tokenPath(dataFolder), JSON.stringify(token), { mode: 0o600 })
    return { email: merchant.email, password: merchant.password, token: token?.token ?? '' }
  } finally {
    await pool.end()
  }
}

/** The token that `npm start` keeps for the demonstration; undefined before the first start. */
export const readToken = async (dataFolder: string): Promise<{ id: string; token: string } | undefined> => {
  const text = await readFile(tokenPath(dataFolder), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}
