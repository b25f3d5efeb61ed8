import type { Tx } from '../database/tables.ts'
import {
  findMerchantByEmail,
  findStaffByEmail,
  keepMerchant,
  keepStaff,
  type MerchantRow,
  type StaffRow,
} from './queries.ts'
import type { Holder } from './tokens.ts'

export interface Account {
  readonly password_hash: string
  readonly is_active: boolean
}

/** Those who may log in at one place. */
export interface Accounts<Row extends Account> {
  readonly kind: 'merchant' | 'staff'
  readonly find: (tx: Tx, tenant: string, email: string) => Promise<Row | undefined>
  /** Keeps the account from changing until the transaction ends. */
  readonly keep: (tx: Tx, tenant: string, account: Row) => Promise<Row | undefined>
  readonly holderOf: (account: Row) => Holder
  /** As the audit names it. */
  readonly nameOf: (account: Row) => string
}

export const merchants: Accounts<MerchantRow> = {
  kind: 'merchant',
  find: findMerchantByEmail,
  keep: (tx, tenant, { merchant_id }) => keepMerchant(tx, tenant, merchant_id),
  holderOf: ({ merchant_id: merchantId }) => ({ merchantId, fromLogin: true }),
  nameOf: ({ merchant_id }) => merchant_id,
}

export const staff: Accounts<StaffRow> = {
  kind: 'staff',
  find: findStaffByEmail,
  keep: (tx, tenant, { staff_id }) => keepStaff(tx, tenant, staff_id),
  holderOf: ({ staff_id: staffId, name: staffName }) => ({ staffName, staffId, fromLogin: true }),
  nameOf: ({ name }) => name,
}
