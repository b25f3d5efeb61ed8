import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { readScope, refuseRoles } from '../../../core/access/merchant.ts'
import { addAction } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { MerchantParams } from '../ledger/fields.ts'
import {
  AccountConfirmation,
  AccountDetails,
  AccountObjection,
  BankAccount,
  changeAccount,
  confirmAccount,
  findAccount,
  objectToAccount,
  readDetails,
  SeenAccount,
} from './bank-accounts.ts'

interface AccountOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
  /** Is called after an account changes, for the merchant's webhooks. */
  readonly onChanged: (tenant: string) => void
}

const path = '/merchant/:merchant_id/bank-account'

export const requireKeys = (keyring: Keyring | undefined): Keyring => {
  if (keyring) return keyring
  throw httpError('unavailable', 'Bank accounts are not set up here: the operator sets WEBHOOK_KEYS.')
}

const found = Type.Object({
  data: Type.Union([BankAccount, Type.Null()], { description: 'null: the merchant has none.' }),
})

/** Keeps the bank accounts of merchants. */
export const bankAccountRoutes: FastifyPluginAsyncTypebox<AccountOptions> = async (app, options) => {
  const { pool, keyring, onChanged } = options
  acceptJson(app)
  const reading = {
    operationId: 'getBankAccount',
    summary: 'Read the newest bank account of a merchant',
    params: MerchantParams,
    response: { 200: found },
  }
  app.get(path, { schema: reading }, async ({ staff: { tenant }, params: { merchant_id } }) => {
    const data = await inTenant(pool, tenant, (tx: Tx) => findAccount(tx, tenant, merchant_id))
    return { data: data ?? null }
  })
  const seeing = {
    operationId: 'seeBankAccount',
    summary: 'Read bank, holder and number of a merchant, to check them',
    description: 'Each read is audited. Compare it with what the merchant stated, then confirm the version.',
    params: MerchantParams,
    response: { 200: Type.Object({ data: SeenAccount }), ...errorResponses(404) },
  }
  app.get(`${path}/details`, { schema: seeing }, async ({ staff: { tenant, actor }, params: { merchant_id } }) => {
    const keys = requireKeys(keyring)
    return inTenant(pool, tenant, async (tx: Tx) => {
      const account = await findAccount(tx, tenant, merchant_id)
      if (!account) throw notFound('bank account')
      const details = await readDetails(tx, keys, tenant, { merchant_id, version: account.version })
      if (!details) throw httpError('unavailable', 'No key in WEBHOOK_KEYS opens the account.')
      await audit(tx, tenant, actor, 'bank_account.read', `merchant ${merchant_id}`)
      return { data: { ...account, ...details } }
    })
  })
  const account = { params: MerchantParams, data: BankAccount }
  addAction(app, pool, {
    ...account,
    path,
    operationId: 'changeBankAccount',
    action: 'bank_account.changed',
    message: 'Bank Account Changed Successfully',
    summary: 'Change the bank account of a merchant',
    description:
      'A second person must confirm the account. Nothing is paid to the merchant for 48 hours, in which the merchant, who is told, may object.',
    body: AccountDetails,
    onDone: onChanged,
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
    act: (tx, call) => confirmAccount(tx, requireKeys(keyring), call),
  })
}

const ownPath = '/bank-account'

/** Shows a merchant the account to which it is paid, and takes its objection to a new one. */
export const merchantBankAccountRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const reading = {
    operationId: 'getOwnBankAccount',
    summary: 'Read the end of the number of the bank account to which you are paid',
    response: { 200: found },
  }
  app.get(ownPath, { schema: reading }, async request => {
    const { tenant, merchantId } = readScope(request)
    const data = await inTenant(pool, tenant, (tx: Tx) => findAccount(tx, tenant, merchantId ?? ''))
    return { data: data ?? null }
  })
  refuseRoles(app, 'clerk')
  acceptJson(app)
  addAction(app, pool, {
    path: `${ownPath}/object`,
    operationId: 'objectToBankAccount',
    action: 'bank_account.objected',
    summary: 'Object to a new bank account',
    description: 'Within 48 hours of its change: nothing is ever paid to it. The company stores another one.',
    message: 'Bank Account Stopped Successfully',
    body: AccountObjection,
    data: BankAccount,
    act: objectToAccount,
  })
}
