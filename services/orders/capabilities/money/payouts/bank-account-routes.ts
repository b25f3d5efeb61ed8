import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { httpError } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { addAction } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { MerchantParams } from '../ledger/fields.ts'
import {
  AccountConfirmation,
  AccountDetails,
  BankAccount,
  changeAccount,
  confirmAccount,
  findAccount,
} from './bank-accounts.ts'

interface AccountOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
}

const path = '/merchant/:merchant_id/bank-account'

export const requireKeys = (keyring: Keyring | undefined): Keyring => {
  if (keyring) return keyring
  throw httpError('unavailable', 'Bank accounts are not set up here: the operator sets WEBHOOK_KEYS.')
}

/** Keeps the bank accounts of merchants. */
export const bankAccountRoutes: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { pool, keyring }) => {
  acceptJson(app)
  app.get(
    path,
    {
      schema: {
        operationId: 'getBankAccount',
        summary: 'Read the newest bank account of a merchant',
        params: MerchantParams,
        response: {
          200: Type.Object({
            data: Type.Union([BankAccount, Type.Null()], { description: 'null: the merchant has none.' }),
          }),
        },
      },
    },
    async ({ staff: { tenant }, params: { merchant_id } }) => {
      const data = await inTenant(pool, tenant, (tx: Tx) => findAccount(tx, tenant, merchant_id))
      return { data: data ?? null }
    },
  )
  const account = { params: MerchantParams, data: BankAccount }
  addAction(app, pool, {
    ...account,
    path,
    operationId: 'changeBankAccount',
    action: 'bank_account.changed',
    message: 'Bank Account Changed Successfully',
    summary: 'Change the bank account of a merchant',
    description: 'A second person must confirm the account. Nothing is paid to the merchant for 48 hours.',
    body: AccountDetails,
    act: (tx, call) => changeAccount(tx, requireKeys(keyring), call),
  })
  addAction(app, pool, {
    ...account,
    path: `${path}/confirm`,
    operationId: 'confirmBankAccount',
    action: 'bank_account.confirmed',
    summary: 'Confirm a changed bank account',
    message: 'Bank Account Confirmed Successfully',
    body: AccountConfirmation,
    act: confirmAccount,
  })
}
