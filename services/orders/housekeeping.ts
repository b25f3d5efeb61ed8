import { createHousekeeping, deleteOldKeys } from '@courier/shared/postgres/housekeeping.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { deleteOldActions } from './capabilities/customer-actions/queries.ts'
import { decideLate } from './capabilities/failures/instruct.ts'
import { deliveryDeletions } from './capabilities/feed/housekeeping.ts'
import { foldDay } from './capabilities/money/fold.ts'
import { deleteOldGaps } from './capabilities/rate-gaps/queries.ts'
import { deleteOldTokens } from './core/access/tokens.ts'
import { fillPhones } from './core/booking/phone-columns.ts'
import { deleteOldChanges, numberUnread } from './core/log/expiry.ts'
import { skipUnwanted } from './core/relay/queries.ts'

/**
 * Folds and seals past days of the ledger, numbers changes that no client reads, and applies the default to failed
 * deliveries past their deadline. Stores phone numbers of earlier versions anew. Deletes expired rows. Marks the events
 * of tenants without messaging as relayed.
 */
export const createOrdersHousekeeping = (pool: pg.Pool, logger: Logger) =>
  createHousekeeping(pool, logger, [
    deleteOldKeys,
    deleteOldTokens,
    numberUnread,
    deleteOldChanges,
    ...deliveryDeletions,
    skipUnwanted,
    deleteOldActions,
    deleteOldGaps,
    foldDay,
    decideLate,
    fillPhones(),
  ])
