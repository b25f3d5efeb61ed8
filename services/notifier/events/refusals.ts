import { DomainError } from '@courier/shared/http/errors.ts'

/** orders knows no such waybill of the tenant. */
export const unknownWaybill = (): DomainError =>
  new DomainError('not_found', 'The requested waybill does not exist in the system.')

/** orders cannot be asked now; nothing was changed. */
export const ordersAway = (): DomainError =>
  new DomainError('unavailable', 'The order cannot be looked up at the moment. Nothing was changed; repeat the call.', {
    retryAfterSeconds: 2,
  })
