import {
  type StringOptions,
  type TObject,
  type TOptional,
  type TProperties,
  type TString,
  Type,
} from '@sinclair/typebox'
import { type FieldErrors, invalid } from '../errors/errors.ts'
import { label } from '../errors/field-errors.ts'
import { nameKey } from '../name-key.ts'
import { type DateOrTime, isAfter, isDate, readDateOrTime } from './dates.ts'

/** Describes a filter of a list, by the text of a query field. */
export interface Filter<Value = unknown> {
  /** Documents the field and refuses most invalid texts, as its `must` says. */
  readonly schema: TString
  /** undefined: the text is not what `must` says. */
  readonly read: (text: string) => Value | undefined
  /** Lists the other names of the filter. */
  readonly aliases?: readonly string[]
}

type Filters = Readonly<Record<string, Filter>>

/** Holds the values of the filters that a request gives. */
export type Wanted<F extends Filters> = {
  readonly [Name in keyof F]?: Exclude<ReturnType<F[Name]['read']>, undefined> | undefined
}

/**
 * Describes the query of a list: `paging` and the filters, each as `name` and as `filter[name]`. The schema documents
 * all of them, and the validator refuses any other `filter[…]`. `read` throws a validation failure for what no schema
 * can express.
 */
export const listQuery = <Paging extends TProperties, F extends Filters>(paging: Paging, filters: F) => {
  const fields = Object.entries(filters).flatMap(([name, { schema, aliases = [] }]) =>
    [name, ...aliases].map((spelling): [string, TOptional<TString>] => [spelling, Type.Optional(schema)]),
  )
  const bracketed = fields.map(([name, schema]) => [bracket(name), schema])
  const schema = { ...paging, ...Object.fromEntries(fields), ...Object.fromEntries(bracketed) }
  return {
    schema: Type.Object(schema) as TObject<Paging>,
    read: (query: object): Wanted<F> => readFilters(filters, query as Query) as Wanted<F>,
    /** Finds the field that gives a filter. */
    findField: (query: object, name: keyof F & string): string =>
      listTexts(query as Query, [name, ...(filters[name]?.aliases ?? [])])[0]?.field ?? name,
  }
}

const bracket = (name: string): string => `filter[${name}]`

type Query = Readonly<Record<string, unknown>>

const readFilters = (filters: Filters, query: Query): Record<string, unknown> => {
  const errors: FieldErrors = {}
  const fields = new Map<string, string>()
  const wanted: Record<string, unknown> = {}
  for (const [name, filter] of Object.entries(filters)) {
    const [given, ...others] = listTexts(query, [name, ...(filter.aliases ?? [])])
    if (!given) continue
    fields.set(name, given.field)
    wanted[name] = filter.read(given.text)
    if (wanted[name] === undefined) errors[given.field] = [`The ${label(given.name)} field must ${filter.schema.must}.`]
    for (const { field, text } of others)
      if (text !== given.text) errors[field] = [`The ${field} field must equal ${given.field}: they are one filter.`]
  }
  for (const [name, field] of fields) {
    const start = name.replace(/_to$/, '_from')
    if (start === name || errors[field] || !isEmptyRange(wanted[start], wanted[name])) continue
    errors[field] = [`The ${label(name)} field must be a date or time after or equal to ${label(start)}.`]
  }
  if (Object.keys(errors).length > 0) throw invalid(errors)
  return wanted
}

/** Lists the fields of the query that give a filter, with their texts. A blank field counts as absent. */
const listTexts = (query: Query, names: readonly string[]): { name: string; field: string; text: string }[] =>
  [...names.map(name => [name, name] as const), ...names.map(name => [name, bracket(name)] as const)].flatMap(
    ([name, field]) => {
      const text = String(query[field] ?? '').trim()
      return text === '' ? [] : { name, field, text }
    },
  )

const isEmptyRange = (from: unknown, to: unknown): boolean =>
  from !== undefined && to !== undefined && isAfter(from as DateOrTime, to as DateOrTime)

/** Matches text that Postgres accepts: without null characters and halves of surrogate pairs. */
export const textPattern = '^([^\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$'

export const FilterText = (description: string) =>
  Type.String({
    maxLength: 255,
    pattern: textPattern,
    description,
    must: 'be text of at most 255 characters without a null character',
  })

/** Filters by text that matches a schema. */
export const matching = (schema: StringOptions, ...aliases: string[]): Filter<string> => ({
  schema: Type.String(schema),
  read: text => text,
  aliases,
})

export const text = (description: string, ...aliases: string[]): Filter<string> =>
  matching(FilterText(description), ...aliases)

/** Filters by an id that a bigint holds. */
export const id = (description: string, ...aliases: string[]): Filter<string> =>
  matching({ maxLength: 40, pattern: '^\\s*([1-9][0-9]{0,17}\\s*)?$', description, must: 'be an id' }, ...aliases)

export const date = (description: string): Filter<string> => ({
  schema: Type.String({ maxLength: 40, description, must: 'be a date such as 2026-02-19' }),
  read: text => (isDate(text) ? text : undefined),
})

export const dateOrTime = (description: string, ...aliases: string[]): Filter<DateOrTime> => ({
  schema: Type.String({
    maxLength: 40,
    description,
    must: 'be a date such as 2026-02-19 or a time such as 2026-02-19T08:00:00Z',
  }),
  read: readDateOrTime,
  aliases,
})

/** Filters by one of `values`, in any letter case. */
export const oneOf = <Value extends string>(values: readonly Value[], description: string): Filter<Value> => ({
  schema: Type.String({
    ...FilterText(description),
    examples: [...values],
    must: `be one of ${values.join(', ')}`,
  }),
  read: text => values.find(value => value.toLowerCase() === text.toLowerCase()),
})

/** Filters rows in memory by one of their fields. */
interface RowFilter<Row> extends Filter<string> {
  readonly matches: (row: Row, text: string) => boolean
}

type Value = string | number | boolean | null | undefined

/** Returns the text by which a value compares: without letter case and extra white space. */
const toKey = (value: Value): string => nameKey(String(value ?? ''))

/** Filters by part of a field's text. */
export const part = <Row>(readField: (row: Row) => Value, description: string): RowFilter<Row> => ({
  schema: FilterText(description),
  read: nameKey,
  matches: (row, text) => toKey(readField(row)).includes(text),
})

/** Filters by the whole of a field. */
export const whole = <Row>(readField: (row: Row) => Value, description: string): RowFilter<Row> => ({
  ...part(readField, description),
  matches: (row, text) => toKey(readField(row)) === text,
})

/** Filters by a field that is one of `values`. */
export const choice = <Row>(
  readField: (row: Row) => string,
  values: readonly string[],
  description: string,
): RowFilter<Row> => ({ ...oneOf(values, description), matches: (row, text) => readField(row) === text })

const flags = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }))

/** Filters by a field that is true or false, or 1 or 0. */
export const flag = <Row>(readField: (row: Row) => boolean | number, description: string): RowFilter<Row> => ({
  schema: Type.String({ ...FilterText(description), examples: ['1', '0'], must: 'be true or false' }),
  read: text => (flags.has(text.toLowerCase()) ? text.toLowerCase() : undefined),
  matches: (row, text) => Boolean(readField(row)) === flags.get(text),
})

/** Returns the rows that match every filter given. */
export const filterRows = <Row, F extends Readonly<Record<string, RowFilter<Row>>>>(
  filters: F,
  wanted: Wanted<F>,
  rows: readonly Row[],
): readonly Row[] => {
  const given = Object.entries(filters).flatMap(([name, { matches }]) => {
    const text: string | undefined = wanted[name]
    return text === undefined ? [] : { matches, text }
  })
  return given.length === 0 ? rows : rows.filter(row => given.every(({ matches, text }) => matches(row, text)))
}
