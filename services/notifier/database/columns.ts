/** Returns the values of rows by column, as `unnest` takes them; undefined becomes null. */
export const toColumns = <Row extends object>(rows: readonly Row[], ...names: (keyof Row)[]): unknown[][] =>
  names.map(name => rows.map(row => row[name] ?? null))
