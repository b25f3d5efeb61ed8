/** Lists the types of changes that a merchant's feed may show. */
export const changeTypes = [
  'order.created',
  'order.status_changed',
  'order.edited',
  'order.instructed',
  'money.paid',
  'invoice.deposited',
] as const
export type ChangeType = (typeof changeTypes)[number]
