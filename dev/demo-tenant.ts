import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import type { Applied } from '@courier/shared/cli/changes.ts'
import { openPool } from '@courier/shared/cli/operator-commands.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { createNotifierFile, capabilities as notifierCapabilities } from '../services/notifier/capabilities.ts'
import * as notifier from '../services/notifier/config.ts'
import * as notifierTokens from '../services/notifier/core/access/token-commands.ts'
import { readKeyring } from '../services/notifier/core/channels/vault.ts'
import { applyFile } from '../services/notifier/core/provisioning/apply.ts'
import { checkFile as checkNotifierFile, type TenantConfig } from '../services/notifier/core/provisioning/check-file.ts'
import { capabilities, createCompanyFile } from '../services/orders/capabilities.ts'
import * as orders from '../services/orders/config.ts'
import { addStaff, listStaff } from '../services/orders/core/access/staff-commands.ts'
import * as ordersTokens from '../services/orders/core/access/token-commands.ts'
import { applyTenant } from '../services/orders/core/provisioning/apply.ts'
import { checkFile as checkTenantFile } from '../services/orders/core/provisioning/check-file.ts'
import { root } from './settings.ts'

interface Token {
  id: string
  token: string
}

/** Holds the tokens of the demo's first merchant, and of staff for each service. */
export interface Tokens {
  merchant: Token
  staff: Token
  portal: Token
}

const readExample = async (file: string) => JSON.parse(await readFile(join(root, 'examples', file), 'utf8'))

/** Reads the first merchant of examples/demo-tenant.json. */
export const readDemoMerchant = async (): Promise<{ email: string; password: string }> =>
  (await readExample('demo-tenant.json')).merchants[0]

/** Returns the kept token while it is live, or else a new one. */
const keepOrCreate = async (
  listed: readonly { token_id: string; revoked_at: Date | string | null }[],
  kept: Token | undefined,
  create: () => Promise<Token>,
): Promise<Token> => (kept && listed.some(row => row.token_id === kept.id && !row.revoked_at) ? kept : create())

/** Throws an Error with the errors of an example file, if it was refused. */
const throwIfRefused = (file: string, result: Applied): void => {
  if (result.kind === 'refused') throw new Error(`examples/${file}: ${JSON.stringify(result.errors)}`)
}

const tenant = 'demo'
const staff = 'Demo portal'
const settings = () =>
  loadConfigOrExit(
    Type.Object({
      ...orders.databaseSettings,
      ...notifier.databaseSettings,
      ...notifier.credentialSettings,
    }),
    process.env,
  )
const inOrders = openPool('demo', () => settings().ORDERS_DATABASE_URL)
const inNotifier = openPool('demo', () => settings().NOTIFIER_DATABASE_URL)

/** Runs the operator's commands in this process, since otherwise each command would start Node again. */
export const loadOrders = (kept: Tokens | undefined) =>
  inOrders(async pool => {
    const listed = await ordersTokens.listTokens(pool)
    if (listed.length === 0) {
      const companyFile = createCompanyFile(await loadCapabilities(capabilities, 'all'))
      const checked = checkTenantFile(await readExample('demo-tenant.json'), companyFile)
      throwIfRefused(
        'demo-tenant.json',
        checked.kind === 'refused' ? checked : await applyTenant(pool, checked.file, false, { companyFile }),
      )
    }
    await createMissingStaff(pool)
    const { email: merchant } = await readDemoMerchant()
    return {
      merchant: await keepOrCreate(listed, kept?.merchant, () =>
        ordersTokens.createTokenFor(pool, { tenant, merchant }),
      ),
      staff: await keepOrCreate(listed, kept?.staff, () => ordersTokens.createTokenFor(pool, { tenant, staff })),
    }
  })

export const loadNotifier = (kept: Tokens | undefined) =>
  inNotifier(async pool => {
    const listed = await notifierTokens.listTokens(pool)
    if (listed.length === 0) {
      const parts = createNotifierFile(await loadCapabilities(notifierCapabilities, 'all'))
      const checked = checkNotifierFile(await readExample('demo-notifier.json'), process.env, parts)
      const apply = (file: TenantConfig) => applyFile(pool, readKeyring(settings().CREDENTIALS_KEYS), file, false)
      throwIfRefused('demo-notifier.json', checked.kind === 'refused' ? checked : await apply(checked.file))
    }
    const create = () => notifierTokens.createTokenFor(pool, { tenant, staff })
    return { portal: await keepOrCreate(listed, kept?.portal, create) }
  })

/** Is the password of all the demo's staff, one person for each role. It is public: it protects nothing. */
export const demoPassword = 'courier-demo'
const demoStaff = [
  { role: 'viewer', name: 'Saman Fernando' },
  { role: 'dispatcher', name: 'Nimali Silva' },
  { role: 'messenger', name: 'Tharindu Jayasuriya' },
  { role: 'accounts', name: 'Chamari Dias' },
  { role: 'admin', name: 'Dilani Perera' },
]
export const demoEmail = (role: string): string => `${role}@courier.example`

/** Creates missing staff; existing staff keep their roles and passwords. */
const createMissingStaff = async (pool: pg.Pool): Promise<void> => {
  const listed = await listStaff(pool, tenant)
  const missing = demoStaff.filter(({ role }) => !listed.some(row => row.email === demoEmail(role)))
  await Promise.all(missing.map(one => addStaff(pool, { tenant, email: demoEmail(one.role), ...one }, demoPassword)))
}
