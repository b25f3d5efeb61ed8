import { createHousekeeping } from '@courier/shared/postgres/housekeeping.ts'
import { deleteOldKeys } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { deleteOldTokens } from './access/tokens.ts'
import { deleteOldChanges } from './changes/queries.ts'
import { deleteUnwanted } from './outbox/queries.ts'
import { deliveryDeletions } from './webhooks/housekeeping.ts'

/** Deletes idempotency keys, tokens, changes and deliveries that are no longer kept, and events of tenants without messaging. */
export const createOrdersHousekeeping = (pool: pg.Pool, logger: Logger) =>
  createHousekeeping(pool, logger, [
    deleteOldKeys,
    deleteOldTokens,
    deleteOldChanges,
    ...deliveryDeletions,
    deleteUnwanted,
  ])
