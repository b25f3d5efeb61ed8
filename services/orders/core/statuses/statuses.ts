/**
 * Lists the statuses that a merchant may choose at creation (docs/merchants/contract.md#statuses): DRAFT, the default,
 * or CONFIRMED.
 */
export const initialStatusKeys = ['key_1', 'key_2'] as const
export type InitialStatusKey = (typeof initialStatusKeys)[number]

export const confirmedKey: InitialStatusKey = 'key_2'
export const cancelledKey = 'key_3'

/** Lists the statuses that the API relies on: every set has them, and merchants may set no others. */
export const merchantStatusKeys: readonly string[] = [...initialStatusKeys, cancelledKey]

/**
 * Lists the moves that merchants and customers may make with their orders, in every set: confirm a draft, and cancel.
 */
export const merchantMoves: Readonly<Record<string, readonly string[]>> = {
  key_1: [confirmedKey, cancelledKey],
  key_2: [cancelledKey],
}

export const deliveredKeys: readonly string[] = ['key_7', 'key_13', 'key_14']
export const returnedKeys: readonly string[] = ['key_18', 'key_19', 'key_20', 'key_21']
/** An order that was in one of these was not delivered at the first attempt. */
export const failedAttemptKeys: readonly string[] = ['key_15', 'key_16', 'key_17']

/** Lists what a move to a status can book (docs/money.md). */
export const bookings = ['delivery', 'partial_delivery', 'return', 'nothing'] as const
export type Booking = (typeof bookings)[number]

/** Lists what a move to these statuses books unless the company's file says otherwise. */
const usualBookings: Readonly<Record<string, Booking>> = {
  key_7: 'delivery',
  key_13: 'delivery',
  key_14: 'partial_delivery',
  key_21: 'return',
}

export const findBooking = (status: Pick<Status, 'key' | 'books'> | undefined): Booking =>
  status?.books ?? usualBookings[status?.key ?? ''] ?? 'nothing'

export const statusClasses = ['waiting', 'under_way', 'delivered', 'returned', 'cancelled'] as const
type StatusClass = (typeof statusClasses)[number]

/** Returns the class of a status by its key. In a tenant's own set, statuses with other keys are under way. */
export const classifyStatus = (key: string): StatusClass => {
  if (initialStatusKeys.some(initial => initial === key)) return 'waiting'
  if (key === cancelledKey) return 'cancelled'
  if (deliveredKeys.includes(key)) return 'delivered'
  return returnedKeys.includes(key) ? 'returned' : 'under_way'
}

/** Lists the statuses of an order that is with its merchant; tenants may have others of their own. */
export const beforePickup: readonly string[] = ['key_1', 'key_2', 'key_4', 'key_5']

export const editables = ['all', 'customer', 'none'] as const

/**
 * Lists the fields that staff may change: all before pickup; then, until the order is delivered, returned or cancelled,
 * the customer_ fields.
 */
export const editableIn = (key: string): (typeof editables)[number] => {
  if (beforePickup.includes(key)) return 'all'
  return classifyStatus(key) === 'under_way' ? 'customer' : 'none'
}

/** Describes a status of a tenant; `moves` are the keys to which staff may move an order from it. */
export interface Status {
  readonly key: string
  readonly name: string
  readonly description: string
  /** Names the colour, such as success. */
  readonly color: string
  readonly moves: readonly string[]
  /** null or undefined: its key decides. */
  readonly books?: Booking | null
}

export const listKeysOfClass = (statuses: Statuses, wanted: StatusClass): string[] =>
  [...statuses.keys()].filter(key => classifyStatus(key) === wanted)

/** Returns true for a status without moves, and for one that the set no longer has. */
export const isFinal = (status: Status | undefined): boolean => (status?.moves.length ?? 0) === 0

/** Holds a tenant's statuses by key, in the order of the set. */
export type Statuses = ReadonlyMap<string, Status>

const status = (number: number, name: string, color: string, description: string, moves: number[] = []): Status => ({
  key: `key_${number}`,
  name,
  description,
  color,
  moves: moves.map(move => `key_${move}`),
})

/** Lists the statuses of a tenant whose file has no set of its own (docs/merchants/contract.md#statuses). */
export const standardStatuses: readonly Status[] = [
  status(1, 'DRAFT', 'secondary', 'The merchant has not confirmed the order yet.', [2]),
  status(2, 'CONFIRMED', 'primary', 'The merchant wants the parcel to be picked up.', [3, 4, 5, 9]),
  status(3, 'CANCELLED', 'danger', 'The order was cancelled before it was picked up.'),
  status(4, 'DEFAULT WAREHOUSE CHANGE', 'primary', 'Another warehouse takes the parcel in.', [5, 9]),
  status(5, 'PICKUP RIDER ASSIGNED', 'info', 'A rider is to fetch the parcel.', [6]),
  status(6, 'PICKED UP', 'info', 'The rider has the parcel.', [7, 8]),
  status(7, 'DELIVERED BY PICKUP RIDER', 'success', 'The rider who fetched the parcel delivered it.'),
  status(8, 'DISPATCH TO ORIGIN WAREHOUSE', 'info', 'The parcel is on its way to the first warehouse.', [9, 11]),
  status(9, 'RECEIVED TO ORIGIN WAREHOUSE', 'primary', 'The first warehouse has the parcel.', [10]),
  status(10, 'DISPATCHED FROM ORIGIN WAREHOUSE', 'primary', 'The parcel left the first warehouse.', [11]),
  status(11, 'RECEIVED AT DESTINATION WAREHOUSE', 'info', 'The warehouse near the recipient has the parcel.', [12]),
  status(12, 'ASSIGNED TO DESTINATION RIDER', 'info', 'A rider is to deliver the parcel.', [13, 14, 15]),
  status(13, 'DELIVERED', 'success', 'The recipient has the parcel.'),
  status(14, 'PARTIALLY DELIVERED', 'success', 'The recipient took a part of the parcel.'),
  status(15, 'RETURN TO DESTINATION WAREHOUSE', 'warning', 'The rider brings the parcel back.', [16, 17]),
  status(16, 'RESCHEDULED', 'warning', 'The parcel will be delivered at another time.', [12]),
  status(17, 'FAILED TO DELIVER', 'danger', 'The parcel could not be delivered.', [16, 18]),
  status(18, 'RETURN TO ORIGIN WAREHOUSE', 'danger', 'The parcel goes back to the first warehouse.', [19]),
  status(
    19,
    'RECEIVED TO ORIGIN WAREHOUSE (FAILED TO DELIVER)',
    'danger',
    'The first warehouse has the undelivered parcel.',
    [20],
  ),
  status(20, 'RETURN TO CLIENT', 'danger', 'The parcel goes back to the merchant.', [21]),
  status(21, 'RECEIVED FAILED ORDER', 'danger', 'The merchant has the parcel again.'),
]
