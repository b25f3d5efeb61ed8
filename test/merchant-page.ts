/** Lists the statuses as merchants' programs know them: key, name, colour, and the keys of the possible moves. */
export const statusTable: [number, string, string, number[]][] = [
  [1, 'DRAFT', 'secondary', [2]],
  [2, 'CONFIRMED', 'primary', [3, 4, 5, 9]],
  [3, 'CANCELLED', 'danger', []],
  [4, 'DEFAULT WAREHOUSE CHANGE', 'primary', [5, 9]],
  [5, 'PICKUP RIDER ASSIGNED', 'info', [6]],
  [6, 'PICKED UP', 'info', [7, 8]],
  [7, 'DELIVERED BY PICKUP RIDER', 'success', []],
  [8, 'DISPATCH TO ORIGIN WAREHOUSE', 'info', [9, 11]],
  [9, 'RECEIVED TO ORIGIN WAREHOUSE', 'primary', [10]],
  [10, 'DISPATCHED FROM ORIGIN WAREHOUSE', 'primary', [11]],
  [11, 'RECEIVED AT DESTINATION WAREHOUSE', 'info', [12]],
  [12, 'ASSIGNED TO DESTINATION RIDER', 'info', [13, 14, 15]],
  [13, 'DELIVERED', 'success', []],
  [14, 'PARTIALLY DELIVERED', 'success', []],
  [15, 'RETURN TO DESTINATION WAREHOUSE', 'warning', [16, 17]],
  [16, 'RESCHEDULED', 'warning', [12]],
  [17, 'FAILED TO DELIVER', 'danger', [16, 18]],
  [18, 'RETURN TO ORIGIN WAREHOUSE', 'danger', [19]],
  [19, 'RECEIVED TO ORIGIN WAREHOUSE (FAILED TO DELIVER)', 'danger', [20]],
  [20, 'RETURN TO CLIENT', 'danger', [21]],
  [21, 'RECEIVED FAILED ORDER', 'danger', []],
]
const toKey = (number: number) => `key_${number}`

/** Adds one move: a merchant may also cancel a draft. */
const moveTable = statusTable.map(([number, name, color, next]): (typeof statusTable)[number] => [
  number,
  name,
  color,
  number === 1 ? [...next, 3] : next,
])

/** Lists the statuses for which the API family expects money. */
const finance = [7, 13, 14, 20, 21]

/** Lists the rows without `id`, `description` and times, whose values each courier company chooses. */
export const statusRows = moveTable.map(([number, name, color, next]) => ({
  key: toKey(number),
  name,
  color,
  icon: null,
  original_name: null,
  is_merchant_status: 1,
  is_finance_status: finance.includes(number) ? 1 : 0,
  is_core_status: true,
  is_branch_status: number > 2,
  is_walking_status: 1,
  is_reversal_status: number > 1,
  before_statuses: moveTable.filter(([, , , after]) => after.includes(number)).map(([before]) => toKey(before)),
  after_statuses: next.map(toKey),
}))

export const findStatus = (key: string) => {
  const { name, color } = statusRows.find(row => row.key === key) ?? {}
  return { key, name, color }
}
