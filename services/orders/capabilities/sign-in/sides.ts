import type { Actor } from '@courier/shared/postgres/audit.ts'
import { nameActor } from '../../core/access/queries.ts'
import type { Holder } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'

/** Lists the two sides whose people sign in, each with its own addresses. */
export const sides = {
  staff: {
    for: 'staff',
    kind: 'staff',
    face: 'console',
    table: 'staff',
    column: 'staff_id',
    /** Is the role that needs a second factor where the company asks only admins. */
    boss: 'admin',
    prefix: '/api/staff',
    suffix: 'Staff',
  },
  merchants: {
    for: 'merchants',
    kind: 'merchant',
    face: 'desk',
    table: 'merchant_people',
    column: 'person_id',
    boss: 'owner',
    prefix: '/api/public/merchant',
    suffix: 'Merchant',
  },
} as const
export type Side = (typeof sides)[keyof typeof sides]

/** Describes a member of staff, or a person of a merchant. */
export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly roles: readonly string[]
  /** null: a member of staff. */
  readonly merchant_id: string | null
}

/** Finds an active person of that side, and locks the row as `lock` says. */
export const findPerson = async (
  tx: Tx,
  tenant: string,
  { column, table, kind }: Side,
  id: string,
  lock: '' | 'for share' | 'for update' = '',
): Promise<Person | undefined> => {
  const own =
    kind === 'staff'
      ? 'null as merchant_id, coalesce(roles, array[role]) as roles'
      : 'merchant_id::text, array[role] as roles'
  const [found] = await tx.rows<Person>(
    `select ${column}::text as id, name, email, ${own} from ${table}
    where tenant_id = $1 and ${column} = $2::bigint and is_active ${lock}`,
    [tenant, id],
  )
  return found
}

/** Names the person in the audit. */
export const toActor = ({ name, merchant_id }: Person, requestId: string | undefined) =>
  merchant_id === null
    ? ({ kind: 'staff', name, requestId } as const)
    : ({ kind: 'merchant', name: nameActor(merchant_id, { name }), requestId } as const)
toActor satisfies (...given: never[]) => Actor

export const toHolder = ({ id, name, merchant_id }: Person): Holder =>
  merchant_id === null ? { staff_name: name, staff_id: id } : { merchant_id, person_id: id }
