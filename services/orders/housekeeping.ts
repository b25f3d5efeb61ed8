import { createHousekeeping, deleteOldKeys } from '@courier/shared/postgres/housekeeping.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { deleteOldTokens } from './access/tokens.ts'
import { fillPhones } from './booking/phone-columns.ts'
import { deleteOldActions } from './customer-actions/queries.ts'
import { decideLate } from './instructions/instruct.ts'
import { deleteOldChanges, numberUnread } from './log/expiry.ts'
import { deliveryDeletions } from './merchant-webhooks/housekeeping.ts'
import { foldDay } from './money/fold.ts'
import { deleteOldGaps } from './rate-gaps/queries.ts'
import { skipUnwanted } from './relay/queries.ts'

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
