import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { readPhone } from '@courier/shared/phone-number.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { phoneProblem } from '../../core/booking/phone-check.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type CompanyPart, defineFields } from '../../core/provisioning/company-part.ts'
import { toNumeric } from '../../core/provisioning/file-rows.ts'
import { type MerchantsFile, Price, type TenantFile } from '../../core/provisioning/tenant-file.ts'
import { lockStatusSet } from '../../core/statuses/status-queries.ts'
import { watchTerms } from './audited-terms.ts'
import { lockFold } from './ledger/fold-and-seal.ts'
import { payableWhen } from './ledger/payable.ts'
import { keepFormerTerms } from './ledger/terms.ts'
import {
  checkPapers,
  findDocumentErrors,
  merchantPaperFields,
  paperSettings,
  toPaperColumns,
} from './papers/paper-settings.ts'
import { BankFile } from './payouts/bank-file.ts'
import { checkBankFile } from './payouts/check-bank-file.ts'
import { checkTaxTables, Goods, Percent, taxTables, toTableColumns } from './taxes/tax-tables.ts'
import { findExcess } from './withholding/excess.ts'
import { findGoodsErrors, refuseUnregistered } from './withholding/goods.ts'

const payable = {
  payable_when: Type.Optional(oneOf(payableWhen, { must: `be one of ${payableWhen.join(', ')}` })),
  payable_after_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 365, must: 'be 0 to 365 days' })),
}

/** Describes how merchants are paid (docs/money.md#settings). */
const Money = closed({
  ...payable,
  four_eyes: Type.Optional(Type.Boolean()),
  objection_hours: Type.Optional(Type.Integer({ minimum: 0, maximum: 8760, must: 'be 0 to 8760 hours' })),
  ...paperSettings,
  cash_ceiling: Type.Optional(Price),
  compensation_max: Type.Optional(Price),
  bank_file: Type.Optional(BankFile),
  /** true: orders of merchants that are not registered for tax are refused. */
  registered_only: Type.Optional(Type.Boolean()),
})

/** Describes a party as invoices print it. */
const party = {
  postal_address: Type.Optional(Type.String({ minLength: 1, maxLength: 300, must: 'be a postal address' })),
  tax_number: Type.Optional(Type.String({ minLength: 1, maxLength: 50, must: 'be a tax number' })),
}

const settings = {
  ...party,
  /** Sets the tax on the charges of a parcel. */
  tax_percent: Type.Optional(Percent),
  /** Sets the percentage that is withheld from what recipients paid. */
  withholding_percent: Type.Optional(Percent),
  ...taxTables,
  money: Type.Optional(Money),
}

const toMoney = (money: Static<typeof Money>) => ({
  payable_when: money.payable_when ?? 'handed_over',
  payable_after_days: money.payable_after_days ?? 0,
  four_eyes: money.four_eyes ?? false,
  objection_hours: money.objection_hours ?? 24,
  ...toPaperColumns(money),
  cash_ceiling: money.cash_ceiling === undefined ? null : toNumeric(money.cash_ceiling),
  compensation_max: money.compensation_max === undefined ? null : toNumeric(money.compensation_max),
  bank_file: money.bank_file === undefined ? null : JSON.stringify(money.bank_file),
  registered_only: money.registered_only ?? false,
})

const rateCard = defineFields(
  {
    /** Sets the fee on what a recipient paid, at least `cod_fee_min`. */
    cod_fee_percent: Type.Optional(Percent),
    cod_fee_min: Type.Optional(Price),
    /** Sets the fee of a return for the first kilogram; `each_return_kg` is added for each further kilogram begun. */
    return_fee: Type.Optional(Price),
    each_return_kg: Type.Optional(Price),
  },
  ({ cod_fee_percent = 0, cod_fee_min = 0, return_fee = 0, each_return_kg = 0 }) => ({
    cod_fee_percent: cod_fee_percent.toFixed(2),
    cod_fee_min: toNumeric(cod_fee_min),
    return_fee: toNumeric(return_fee),
    each_return_kg: toNumeric(each_return_kg),
  }),
)

const merchant = defineFields(
  {
    ...party,
    ...payable,
    /** true: invoices deduct no charges, and the merchant pays the charges separately. */
    charges_apart: Type.Optional(Type.Boolean()),
    /** Receives the messages of rules on invoices. */
    phone: Type.Optional(Type.String({ minLength: 1, maxLength: 50 })),
    ...merchantPaperFields,
  },
  ({
    postal_address = null,
    tax_number = null,
    payable_when = null,
    payable_after_days = null,
    charges_apart = false,
    phone = null,
    branch = null,
    tax_status = null,
  }) => ({
    postal_address,
    tax_number,
    payable_when,
    payable_after_days,
    charges_apart,
    phone,
    branch,
    tax_status,
  }),
)

const aloneWarning =
  'money.four_eyes is off: one person alone may compensate, settle disputes with amounts, take and settle their own cash, and make, submit and approve invoices'

/** Adds taxes, fees and the terms of payment to the company file. */
export const moneyPart: CompanyPart = {
  tenant: defineFields(settings, ({ tax_percent = 0, withholding_percent = 0, money = {}, ...given }) => ({
    postal_address: given.postal_address ?? null,
    tax_number: given.tax_number ?? null,
    tax_percent: tax_percent.toFixed(2),
    withholding_percent: withholding_percent.toFixed(2),
    ...toTableColumns(given),
    ...toMoney(money),
  })),
  rateCard,
  merchant,
  business: defineFields({ goods: Type.Optional(Goods) }, ({ goods = null }) => ({ goods })),
  check: file => ({ ...checkPapers(file), ...checkTaxTables(file.tenant as object), ...checkBankFile(file) }),
  checkStored: async (tx, file) => ({
    ...(await findDocumentErrors(tx, file)),
    ...(await findPhoneErrors(tx, file)),
    ...(await findZoneErrors(tx, file)),
    ...(await findCurrencyErrors(tx, file)),
    ...(await findGoodsErrors(tx, file)),
    ...(await findExcess(tx, file)),
  }),
  beforeChange: async (tx, tenant) => {
    const [keep, listChanged] = [await keepFormerTerms(tx, tenant), await watchTerms(tx, tenant)]
    return async () => {
      await keep()
      await refuseUnregistered(tx, tenant)
      return listChanged()
    }
  },
  warn: ({ tenant }) => {
    const { money }: { money?: Static<typeof Money> } = tenant as object
    return money?.four_eyes ? [] : [aloneWarning]
  },
}

const findPhoneErrors = async (tx: Tx, { tenant, merchants }: TenantFile | MerchantsFile): Promise<FieldErrors> => {
  const country = 'country' in tenant ? tenant.country : await findCountry(tx, tenant.id)
  return Object.fromEntries(
    merchants.flatMap(({ phone }: { phone?: string }, index) =>
      phone !== undefined && phoneProblem(readPhone(phone, country), country)
        ? [[`merchants.${index}.phone`, ['The phone field must be one phone number, such as +94112345678.']]]
        : [],
    ),
  )
}

const findCountry = async (tx: Tx, tenant: string): Promise<string> => {
  const [row] = await query<{ country: string }>(tx)`select country from tenants where tenant_id = ${tenant}`
  return row?.country ?? ''
}

/** Refuses another currency once money is booked: amounts would be read as amounts of that currency. */
const findCurrencyErrors = async (tx: Tx, { tenant }: TenantFile | MerchantsFile): Promise<FieldErrors> => {
  if (!('currency' in tenant)) return {}
  const { id, currency } = tenant
  const [changed] = await query<{ booked: string }>(tx)`
    select currency as booked from tenants where tenant_id = ${id} and currency <> ${currency}`
  if (!changed) return {}
  // Waits for bookings in the old currency.
  await lockStatusSet(tx, id)
  const [line] = await query(tx)`select from ledger_transfers where tenant_id = ${id} limit 1`
  const { booked } = changed
  const sentence = `Money is booked in ${booked}: the company keeps ${booked}, or begins anew under another id.`
  return line ? { 'tenant.currency': [sentence] } : {}
}

/** Refuses a time zone in which a sealed day of the ledger has not ended: money would be booked on that day again. */
const findZoneErrors = async (tx: Tx, { tenant }: TenantFile | MerchantsFile): Promise<FieldErrors> => {
  if (!('time_zone' in tenant)) return {}
  const { id, time_zone } = tenant
  const [changed] = await query(tx)`select from tenants where tenant_id = ${id} and time_zone <> ${time_zone}`
  if (!changed) return {}
  // Waits for bookings on the day of the old zone: the new one may let the service seal that day at once.
  await lockStatusSet(tx, id)
  await lockFold(tx, id)
  const [sealed] = await query<{ day: string }>(tx)`
    select max(booked_on)::text as day from ledger_seals where tenant_id = ${id}
    having max(booked_on) >= (clock_timestamp() at time zone ${time_zone}::text)::date`
  return sealed
    ? {
        'tenant.time_zone': [
          `The ledger has sealed ${sealed.day}, which has not ended in this time zone: apply the file after that day.`,
        ],
      }
    : {}
}
