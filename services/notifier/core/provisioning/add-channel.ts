import type { Applied } from '@courier/shared/cli/changes.ts'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import { listErrors } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant } from '@courier/shared/postgres/database.ts'
import { closed } from '@courier/shared/schemas.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type pg from 'pg'
import { ChannelBody, PhoneNumberId } from '../channels/fields.ts'
import { findChannel } from '../channels/queries.ts'
import { storeChannels } from '../channels/store.ts'
import { noWebhooks } from '../channels/view.ts'
import type { Tx } from '../database/tables.ts'

export interface ChannelRequest {
  tenant: string
  number: string
  name?: string
  plan?: string
  default?: boolean
}

interface ChannelSecrets {
  accessToken: string
  appSecret?: string | undefined
  verifyToken?: string | undefined
}

const check = TypeCompiler.Compile(closed({ number: PhoneNumberId, ...ChannelBody.properties }))

/** Creates a channel, which a running notifier proves. Throws UsageError for an unknown tenant or a known number. */
export const addChannel = async (
  pool: pg.Pool,
  keyring: Keyring,
  { tenant, number, name, plan, default: isDefault }: ChannelRequest,
  secrets: ChannelSecrets,
  by: Actor = operator(),
): Promise<Applied> => {
  await requireTenant(pool, tenant)
  const { accessToken: access_token, appSecret: app_secret, verifyToken: verify_token } = secrets
  const given = Object.entries({ number, name, plan, access_token, app_secret, verify_token, default: isDefault })
  const body: Record<string, unknown> = Object.fromEntries(given.filter(([, value]) => value !== undefined))
  if (!check.Check(body)) return { kind: 'refused', errors: listErrors(check, body).errors }
  return inTenant(pool, tenant, async (tx: Tx): Promise<Applied> => {
    await lockTenant(tx, tenant)
    if (await findChannel(tx, tenant, number))
      throw new UsageError(`the tenant ${tenant} already has the channel ${number}`)
    const changes = await storeChannels(tx, keyring, tenant, [{ ...body, phone_number_id: number }])
    await audit(tx, tenant, by, 'channel.created', number)
    return { kind: 'applied', changes, warnings: app_secret && verify_token ? [] : [noWebhooks] }
  })
}
