import type { Tx } from '../database/tables.ts'
import { findMerchantByEmail, type MerchantRow, type StaffRow, selectMerchants, selectStaff } from './queries.ts'
import type { Holder } from './tokens.ts'

export interface Account {
  readonly password_hash: string
  readonly is_active: boolean
}

/** The accounts that may log in at one endpoint: merchants or staff. */
export interface Accounts<Row extends Account> {
  readonly kind: 'merchant' | 'staff'
  readonly find: (tx: Tx, tenant: string, email: string) => Promise<Row | undefined>
  /** Keeps the account from changing until the transaction ends. */
  readonly keep: (tx: Tx, tenant: string, account: Row) => Promise<Row | undefined>
  readonly toHolder: (account: Row) => Holder
  /** Returns the name that the audit shows. */
  readonly toName: (account: Row) => string
}

export const merchants: Accounts<MerchantRow> = {
  kind: 'merchant',
  find: findMerchantByEmail,
  keep: (tx, tenant, { merchant_id }) =>
    selectMerchants(tx, tenant).where('merchant_id', '=', merchant_id).forShare().executeTakeFirst(),
  toHolder: ({ merchant_id: merchantId }) => ({ merchantId, fromLogin: true }),
  toName: ({ merchant_id }) => merchant_id,
}

export const staff: Accounts<StaffRow> = {
  kind: 'staff',
  find: (tx, tenant, email) =>
    selectStaff(tx, tenant).where('email', '=', email.trim().toLowerCase()).executeTakeFirst(),
  keep: (tx, tenant, { staff_id }) =>
    selectStaff(tx, tenant).where('staff_id', '=', staff_id).forShare().executeTakeFirst(),
  toHolder: ({ staff_id: staffId, name: staffName }) => ({ staffName, staffId, fromLogin: true }),
  toName: ({ name }) => name,
}
