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
  staffToken: string
}

const tokenPath = (dataFolder: string): string => join(dataFolder, 'demo-tokens.json')

/** examples/demo-tenant.json, checked. It has a merchant. */
export const readDemoFile = async () => {
  const checked = checkFile(JSON.parse(await readFile(join(root, 'examples/demo-tenant.json'), 'utf8')))
  if (checked.kind === 'refused') throw new Error(`examples/demo-tenant.json: ${JSON.stringify(checked.faults)}`)
  const [merchant, ...others] = checked.file.merchants
  if (!merchant) throw new Error('examples/demo-tenant.json has no merchant')
  return { file: checked.file, merchants: [merchant, ...others] as const }
}

/** Applies examples/demo-tenant.json once, and keeps one token of its first merchant and one of staff in the data folder. */
export const loadDemoTenant = async (dataFolder: string): Promise<DemoLogin> => {
  const { file, merchants } = await readDemoFile()
  const [merchant] = merchants
  const tenant = file.tenant.id
  const pool = createPool({ url: process.env.ORDERS_DATABASE_URL ?? '', name: 'demo tenant', connections: 2 })
  try {
    const { rowCount } = await pool.query('select 1 from tenants where tenant_id = $1', [file.tenant.id])
    if (!rowCount) await applyTenant(pool, file, false)
    const kept = await readTokens(dataFolder)
    const live = new Set((await listTokens(pool, tenant)).flatMap(row => (row.revoked_at ? [] : row.token_id)))
    const keep = (name: keyof Tokens, holder: { merchant?: string; staff?: string }) =>
      kept && live.has(kept[name].id) ? kept[name] : createTokenFor(pool, { tenant, ...holder })
    const tokens: Tokens = {
      merchant: await keep('merchant', { merchant: merchant.email }),
      staff: await keep('staff', { staff: 'Demo portal' }),
    }
    await mkdir(dataFolder, { recursive: true })
    await writeFile(tokenPath(dataFolder), JSON.stringify(tokens), { mode: 0o600 })
    const { email, password } = merchant
    return { email, password, token: tokens.merchant.token, staffToken: tokens.staff.token }
  } finally {
    await pool.end()
  }
}

interface Tokens {
  merchant: { id: string; token: string }
  staff: { id: string; token: string }
}

const readTokens = async (dataFolder: string): Promise<Tokens | undefined> => {
  const text = await readFile(tokenPath(dataFolder), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}
