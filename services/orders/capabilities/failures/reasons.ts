import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { WantedMove } from '../../core/moves/move-points.ts'
import { failedAttemptKeys, returnedKeys } from '../../core/statuses/statuses.ts'

/** Describes a reason why a delivery failed or a parcel goes back, from the company's list. */
export interface FailureReason {
  readonly code: string
  readonly name: string
}

/** Lists the reasons of a company whose file has none of its own (docs/staff/failed-deliveries.md#reasons). */
export const usualReasons: readonly FailureReason[] = [
  { code: 'not_home', name: 'Nobody at home' },
  { code: 'refused', name: 'Refused by the recipient' },
  { code: 'wrong_address', name: 'Wrong address' },
  { code: 'phone_off', name: 'Phone off' },
  { code: 'another_day', name: 'Asked for another day' },
  { code: 'no_cash', name: 'No cash' },
  { code: 'other', name: 'Other' },
]

export const findReasons = async (tx: Tx, tenant: string): Promise<readonly FailureReason[]> => {
  const [row] = await tx.rows('select failure_reasons from tenants where tenant_id = $1', [tenant])
  return row?.failure_reasons ? JSON.parse(row.failure_reasons) : usualReasons
}

/** Lists the statuses of failed deliveries and returns: a move to one may carry a reason. */
export const reasonedKeys = [...failedAttemptKeys, ...returnedKeys]

export const checkReason = async (tx: Tx, { tenant, statusKey, given = {} }: WantedMove): Promise<FieldErrors> => {
  const { reason_code: code } = given
  if (code === undefined) return {}
  if (!reasonedKeys.includes(statusKey))
    return { reason_code: ['Leave this out: the status is neither of a failed delivery nor of a return.'] }
  const codes = (await findReasons(tx, tenant)).map(reason => reason.code)
  return codes.some(each => each === code) ? {} : { reason_code: [`The reason_code may be ${codes.join(', ')}.`] }
}
