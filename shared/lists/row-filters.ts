import { nameKey } from '../name-key.ts'
import { type Filter, FilterText, oneOf, type Wanted } from './filters.ts'

/** A filter of rows in memory by one of their fields. Texts compare without letter case and extra white space. */
interface RowFilter<Row> extends Filter<string> {
  readonly keyOf: (row: Row) => string
  /** true: part of the text suffices. */
  readonly isPart: boolean
}

type Value = string | number | boolean | null | undefined
type RowFilters<Row> = Readonly<Record<string, RowFilter<Row>>>

const rowFilter = <Row>(fieldOf: (row: Row) => Value, description: string, isPart: boolean): RowFilter<Row> => ({
  schema: FilterText(description),
  read: nameKey,
  keyOf: row => nameKey(String(fieldOf(row) ?? '')),
  isPart,
})

/** Part of a field's text. */
export const part = <Row>(fieldOf: (row: Row) => Value, description: string): RowFilter<Row> =>
  rowFilter(fieldOf, description, true)

/** The whole of a field. */
export const whole = <Row>(fieldOf: (row: Row) => Value, description: string): RowFilter<Row> =>
  rowFilter(fieldOf, description, false)

/** A field that is one of `values`. */
export const choice = <Row>(
  fieldOf: (row: Row) => string,
  values: readonly string[],
  description: string,
): RowFilter<Row> => ({ ...oneOf(values, description), keyOf: fieldOf, isPart: false })

const flags = new Map(Object.entries({ true: '1', 1: '1', false: '0', 0: '0' }))

/** A field that is true or false, or 1 or 0. */
export const flag = <Row>(fieldOf: (row: Row) => boolean | number, description: string): RowFilter<Row> => {
  const schema = { ...FilterText(description), examples: ['1', '0'], must: 'be true or false' }
  return {
    schema,
    read: text => flags.get(text.toLowerCase()),
    keyOf: row => String(Number(fieldOf(row))),
    isPart: false,
  }
}

/** Keys of lists that are kept: they are long, and their rows never change. */
const keys = new WeakMap<readonly unknown[], Map<unknown, readonly string[]>>()

const keysOf = <Row>(filter: RowFilter<Row>, rows: readonly Row[]): readonly string[] => {
  const known = keys.get(rows) ?? new Map<unknown, readonly string[]>()
  keys.set(rows, known)
  const column = known.get(filter) ?? rows.map(filter.keyOf)
  known.set(filter, column)
  return column
}

/** The rows that match every filter given. */
export const filterRows = <Row, F extends RowFilters<Row>>(
  filters: F,
  wanted: Wanted<F>,
  rows: readonly Row[],
): readonly Row[] => {
  const given = Object.entries(filters).flatMap(([name, filter]) => {
    const text = wanted[name] as string | undefined
    return text === undefined ? [] : { text, column: keysOf(filter, rows), isPart: filter.isPart }
  })
  if (given.length === 0) return rows
  return rows.filter((_row, index) =>
    given.every(({ text, column, isPart }) => (isPart ? column[index]?.includes(text) : column[index] === text)),
  )
}
