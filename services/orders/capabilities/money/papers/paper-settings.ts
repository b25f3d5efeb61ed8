import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../../core/database/tables.ts'
import { type MerchantsFile, Name, type TenantFile } from '../../../core/provisioning/tenant-file.ts'
import { fillMask, type Mask, masks, partsOfMask, toSeries } from './invoice-numbers.ts'

// Describes the settings of documents in the company file, and says what a form lacks (docs/money.md#settings).

const DocumentMask = Type.Optional(
  Type.String({
    maxLength: 40,
    pattern: '^[A-Za-z0-9/._{}-]*#{1,12}[A-Za-z/._{}-]*$',
    must: 'be letters, digits, / . _ - with one group of #; YYYY, YY, MMM, MM, DD and {branch} are filled in',
  }),
)
const Branch = Type.String({ maxLength: 20, pattern: '^[A-Za-z0-9]{1,20}$', must: 'be 1 to 20 letters or digits' })
const taxStatuses = ['registered', 'unregistered', 'exempt', 'zero_rated'] as const

export const paperSettings = {
  invoice_mask: DocumentMask,
  invoice_ref_mask: DocumentMask,
  credit_note_mask: DocumentMask,
  debit_note_mask: DocumentMask,
  remittance_mask: DocumentMask,
  documents: Type.Optional(oneOf(['one', 'two'], { must: 'be one or two' })),
  invoice_form: Type.Optional(oneOf(['plain', 'lk'], { must: 'be plain or lk' })),
  branch: Type.Optional(Branch),
  place_of_supply: Type.Optional(Name),
}
const PaperSettings = closed(paperSettings)
type PaperSettings = Static<typeof PaperSettings>

export const merchantPaperFields = {
  branch: Type.Optional(Branch),
  tax_status: Type.Optional(oneOf(taxStatuses, { must: `be one of ${taxStatuses.join(', ')}` })),
}

const defaultMasks: Readonly<Record<Mask, string>> = {
  invoice_mask: 'CFX-YY-MM-#####',
  invoice_ref_mask: 'MI-####',
  credit_note_mask: 'CN-YY-MM-#####',
  debit_note_mask: 'DN-YY-MM-#####',
  remittance_mask: 'RM-YY-MM-#####',
}
const readMasks = (money: PaperSettings): Record<Mask, string> => ({
  ...defaultMasks,
  ...Object.fromEntries(masks.flatMap(mask => (money[mask] === undefined ? [] : [[mask, money[mask]]]))),
})

export const toPaperColumns = (money: PaperSettings) => ({
  ...readMasks(money),
  documents: money.documents ?? null,
  invoice_form: money.invoice_form ?? 'plain',
  branch: money.branch ?? null,
  place_of_supply: money.place_of_supply ?? null,
})

interface Party {
  readonly postal_address?: string
  readonly tax_number?: string
  readonly contact?: string
  readonly money?: PaperSettings
  readonly branch?: string
  readonly tax_status?: (typeof taxStatuses)[number]
}

/** Lists what is wrong with the masks of a company file, and what its form of invoices lacks. */
export const checkPapers = (file: TenantFile): FieldErrors => {
  const company: Party = file.tenant
  const money = company.money ?? {}
  const branches = [company, ...(file.merchants as Party[])].map(each => (each.money ?? each).branch ?? money.branch)
  const found: [string, string | false | undefined][] = masks.map(mask => [
    `tenant.money.${mask}`,
    money[mask] !== undefined && refuseMask(money[mask], branches),
  ])
  found.push(...findShared(readMasks(money), branches))
  if (money.invoice_form === 'lk') found.push(...listMissing(company, money, branches))
  return Object.fromEntries(found.flatMap(([path, sentence]) => (sentence ? [[path, [sentence]]] : [])))
}

/** Says what is wrong with a mask: a letter may belong to a part of the day or to a word, and nobody can tell. */
const refuseMask = (mask: string, branches: readonly (string | undefined)[]): string | undefined => {
  const rest = mask.replace(/\{(YYYY|YY|MMM|MM|DD|branch)\}/g, '/')
  if (/[{}]/.test(rest)) return 'Only {branch}, {YYYY}, {YY}, {MMM}, {MM} and {DD} stand in braces.'
  const mixed = rest.split(/[^A-Za-z]+/).find(word => {
    const letters = word.replace(partsOfMask, '')
    return letters !== '' && letters !== word
  })
  if (mixed) return `${mixed} mixes parts of the day with other letters: put / . _ - between them, or braces, as {YY}.`
  if (mask.includes('{branch}') && branches.includes(undefined))
    return 'The mask has {branch}: set tenant.money.branch, or the branch of each merchant.'
  return undefined
}

/** Finds masks that give the same series on some day of the next years: their numbers would have gaps. */
const findShared = (found: Record<Mask, string>, branches: readonly (string | undefined)[]): [string, string][] => {
  const owners = new Map([['PAY-#', 'the batches of payments']])
  return masks.flatMap((mask): [string, string][] => {
    const days = listDays(found[mask].includes('DD') ? 31 : 1)
    const own = new Set(days.flatMap(day => branches.map(branch => toSeries(fillMask(found[mask], day, branch)))))
    const other = [...own].map(series => owners.get(series)).find(owner => owner !== undefined)
    for (const series of own) owners.set(series, mask)
    return other ? [[`tenant.money.${mask}`, `It gives the same numbers as ${other}: each series has its own.`]] : []
  })
}

const listDays = (perMonth: number): string[] =>
  Array.from({ length: 20 * 12 * perMonth }, (_, index) => {
    const [month, day] = [Math.floor(index / perMonth), index % perMonth]
    return [2020 + Math.floor(month / 12), 1 + (month % 12), 1 + day]
      .map(part => String(part).padStart(2, '0'))
      .join('-')
  })

/** Lists what the form of Sri Lanka lacks (docs/money.md#sri-lankas-form). */
const listMissing = (
  company: Party,
  money: PaperSettings,
  branches: readonly (string | undefined)[],
): [string, string][] => {
  const missing = (['tax_number', 'postal_address', 'contact'] as const).filter(field => !company[field])
  const mask = money.invoice_mask ?? ''
  const longest =
    Math.max(...branches.map(branch => fillMask(mask, '2026-09-30', branch).replace(/#+/, '').length)) + 12
  const isOfForm = /^(YYMMM|\{YY\}\{MMM\})_(\{branch\}|[A-Za-z0-9]+)_#+$/.test(mask) && longest <= 40
  return [
    ...missing.map((field): [string, string] => [`tenant.${field}`, 'The form lk prints it: give one.']),
    ...(money.place_of_supply
      ? []
      : [['tenant.money.place_of_supply', 'The form lk prints it: give one.'] as [string, string]]),
    ...(isOfForm
      ? []
      : [
          ['tenant.money.invoice_mask', 'The form lk needs YYMMM_{branch}_#, of at most 40 characters.'] as [
            string,
            string,
          ],
        ]),
  ]
}

/**
 * Lists what a file with merchants of a form lacks about them, and refuses one document for charges and COD once tax
 * invoices exist: charges would be invoiced again.
 */
export const findDocumentErrors = async (tx: Tx, file: TenantFile | MerchantsFile): Promise<FieldErrors> => {
  const { id } = file.tenant
  const company: Party | undefined = 'currency' in file.tenant ? file.tenant : undefined
  const [stored] = await query<{ invoice_form: string }>(tx)`
    select invoice_form from tenants where tenant_id = ${id}`
  const form = company ? company.money?.invoice_form : stored?.invoice_form
  const errors: FieldErrors = {}
  for (const [index, each] of (file.merchants as Party[]).entries()) {
    const isRegistered = each.tax_status === 'registered' || (each.tax_status === undefined && each.tax_number)
    if (isRegistered && !each.tax_number)
      errors[`merchants.${index}.tax_number`] = ['A registered merchant has a tax number.']
    if (isRegistered && form === 'lk' && !each.postal_address)
      errors[`merchants.${index}.postal_address`] = ['The form lk prints it: give one.']
  }
  if (!company || (company.money?.documents ?? (company.tax_number ? 'two' : 'one')) === 'two') return errors
  const [issued] = await query(tx)`
    select from invoices where tenant_id = ${id} and kind <> 'invoice' and state <> 'cancelled' limit 1`
  if (issued) errors['tenant.money.documents'] = ['The company has tax invoices: it keeps two.']
  return errors
}
