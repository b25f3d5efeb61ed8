import { createHousekeeping, deleteOldKeys } from '@courier/shared/postgres/housekeeping.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Capabilities } from './capability.ts'
import { deleteOldTokens } from './core/access/tokens.ts'
import { fillPhones } from './core/database/phone-columns.ts'
import { deleteOldChanges } from './core/log/retention.ts'
import { skipUnwanted } from './core/relay/queries.ts'

/**
 * Deletes expired rows, marks the events of tenants without messaging as relayed,
 * stores phone numbers of earlier versions anew, and does what the capabilities list.
 */
export const createOrdersHousekeeping = (pool: pg.Pool, logger: Logger, loaded: Capabilities) =>
  createHousekeeping(pool, logger, [
    deleteOldKeys,
    deleteOldTokens,
    deleteOldChanges,
    skipUnwanted,
    fillPhones(),
    ...[...loaded.values()].flatMap(({ housekeeping = [] }) => housekeeping),
  ])
