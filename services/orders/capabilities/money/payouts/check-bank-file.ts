import { findDecimals } from '@courier/shared/currency.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { TenantFile } from '../../../core/provisioning/tenant-file.ts'
import { type BankFile, type Column, refuseText, writeDate } from './bank-file.ts'

type Found = [path: string, sentence: string | false | undefined]

/** Lists what is wrong with the file for the bank in a company file. */
export const checkBankFile = ({ tenant }: TenantFile): FieldErrors => {
  const { bank_file: file } = (tenant as { money?: { bank_file?: BankFile } }).money ?? {}
  if (!file) return {}
  const lines: [string, readonly Column[]][] = [
    ...(file.header ?? []).map((line, index): [string, readonly Column[]] => [`header.${index}.`, line]),
    ['columns.', file.columns],
    ...(file.trailer ?? []).map((line, index): [string, readonly Column[]] => [`trailer.${index}.`, line]),
  ]
  const found: Found[] = [
    ...checkWhole(file, tenant.currency),
    ...lines.flatMap(([path, line]) =>
      line.map((column, index): Found => [path + index, refuseColumn(file, column, tenant.currency)]),
    ),
  ]
  return Object.fromEntries(
    found.flatMap(([path, sentence]) => (sentence ? [[`tenant.money.bank_file.${path}`, [sentence]]] : [])),
  )
}

const checkWhole = (file: BankFile, currency: string): Found[] => {
  const { separator, quote, decimals: given, columns } = file
  const decimals = findDecimals(currency)
  const has = (...fields: readonly Column['field'][]) => columns.some(({ field }) => field && fields.includes(field))
  return [
    ['quote', separator === undefined && quote && 'A file without a separator quotes nothing: leave this out.'],
    ['decimals', given !== undefined && given < decimals && `${currency} has ${decimals}: give at least as many.`],
    [
      'columns',
      !(has('amount') && has('number', 'plain_number')) &&
        'The bank needs a column of amount, and one of number or plain_number.',
    ],
  ]
}

/** Says what is wrong with a column: values of a known length must fit, others are checked when a batch is made. */
const refuseColumn = (file: BankFile, column: Column, currency: string): string | undefined => {
  const { field, text, width, align, pad } = column
  if ((field === undefined) === (text === undefined)) return 'Give either field or text.'
  if (width === undefined) {
    if (field && file.separator === undefined) return 'Give a width: the file has no separator.'
    return align || pad ? 'Give a width, too: without one nothing is padded.' : undefined
  }
  if (field && pad && /\d/.test(pad) && align !== 'right')
    return 'Digits after a value would change it: align it right, or pad it with blanks.'
  const known = { made_on: writeDate(file.date, '2026-01-01'), currency }
  const value = text ?? known[field as keyof typeof known]
  return value === undefined ? undefined : refuseText(file, column, value)
}
