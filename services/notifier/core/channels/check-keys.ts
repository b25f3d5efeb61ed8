import { httpError } from '@courier/shared/errors/errors.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { type Keyring, tryOpen, VaultError } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import { open, type SecretRef } from './vault.ts'

/** Describes a key of stored secrets, some or all of which CREDENTIALS_KEYS cannot open. */
interface UnopenedKey {
  readonly key_id: string
  /** `wrong`: it opens none of its secrets; `damaged`: it opens some of them. */
  readonly problem: 'missing' | 'wrong' | 'damaged'
  readonly secrets: number
  /** Lists the first hundred channels, each as `tenant phone_number_id`. */
  readonly channels: readonly string[]
}

const maxListed = 100

/** Tries to open every stored secret: a few thousand take milliseconds. */
export const findUnopened = async (pool: pg.Pool, keyring: Keyring): Promise<UnopenedKey[]> => {
  const all = sql<SecretRef & { key_id: string; sealed: Buffer }>`
    select tenant_id as tenant, phone_number_id as "phoneNumberId", kind, key_id, sealed from secrets
    order by key_id, tenant_id, phone_number_id`
  const { rows } = await inAllTenants(pool, (tx: Tx) => all.execute(tx))
  return [...Map.groupBy(rows, row => row.key_id)].flatMap(([key_id, ofKey]) => {
    const unopened = ofKey.filter(row => tryOpen(() => open(keyring, row, key_id, row.sealed)) === undefined)
    if (unopened.length === 0) return []
    const channels = [...new Set(unopened.map(row => `${row.tenant} ${row.phoneNumberId}`))].slice(0, maxListed)
    const problem = !keyring.keys.has(key_id) ? 'missing' : unopened.length === ofKey.length ? 'wrong' : 'damaged'
    return [{ key_id, problem, secrets: unopened.length, channels }]
  })
}

/** Refuses to seal with a wrong key, whose secrets would be lost once the right key is back. Throws VaultError. */
export const refuseWrongNewest = (keys: readonly UnopenedKey[], { newest }: Keyring): void => {
  if (keys.some(({ key_id, problem }) => key_id === newest && problem === 'wrong'))
    throw new VaultError(
      `key ${newest} of CREDENTIALS_KEYS is not the one that sealed the stored secrets: correct it, or give a new key a new id`,
    )
}

const repeatMilliseconds = 5_000

export type KeyCheck = ReturnType<typeof createKeyCheck>

/** Creates the check that the keys open the stored secrets, repeated while they do not. The check logs changes. */
export const createKeyCheck = (pool: pg.Pool, keyring: Keyring, logger: Logger) => {
  let current: Promise<UnopenedKey[]> | undefined
  let logged = '[]'
  const forget = (): void => {
    current = undefined
  }

  const check = async (): Promise<UnopenedKey[]> => {
    const keys = await findUnopened(pool, keyring)
    const text = JSON.stringify(keys)
    if (text !== logged && keys.length > 0) logger.error({ keys }, 'credentials.not_opened')
    else if (text !== logged) logger.info('credentials.opened')
    logged = text
    if (keys.length > 0) setTimeout(forget, repeatMilliseconds).unref()
    return keys
  }
  const read = (): Promise<UnopenedKey[]> => {
    current ??= check().catch(error => {
      forget()
      throw error
    })
    return current
  }
  /** Returns false for a missing or wrong key. A damaged secret, which no key opens, stops only its own channel. */
  const mayUse = async (): Promise<boolean> => (await read()).every(({ problem }) => problem === 'damaged')
  return {
    mayUse,
    ready: async (): Promise<void> => {
      if (!(await mayUse())) throw keysNeeded()
    },
    refuseWrongNewest: async (): Promise<void> => refuseWrongNewest(await read(), keyring),
    forget,
    /** Turns a vault error into 503; other errors stay as they are. */
    refuse: (error: unknown): never => {
      if (!(error instanceof VaultError)) throw error
      forget()
      throw keysNeeded()
    },
  }
}

const keysNeeded = () =>
  httpError('unavailable', 'CREDENTIALS_KEYS does not open what is stored; the log of the notifier names the keys.', {
    retryAfterSeconds: 5,
  })
