/**
 * Lists the types of changes that a merchant's feed shows. Merchants rely on the list whatever the company loads: the
 * log keeps entries of a capability that was left out later.
 */
export const changeTypes = [
  'order.created',
  'order.status_changed',
  'order.edited',
  'order.instructed',
  'money.paid',
  'invoice.submitted',
  'invoice.deposited',
  'bank_account.changed',
  'pickup.requested',
  'pickup.assigned',
  'pickup.done',
  'pickup.missed',
] as const
