import type { Faults } from './http/errors.ts'

/** What the operator asked for cannot be done as asked; `message` says why and what to do. */
export class UsageError extends Error {
  override name = 'UsageError'
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2))

type Cell = string | number | boolean | Date | null

/** Columns under their names, or the sentence when there is nothing to show. */
export const printTable = (rows: Record<string, Cell>[], nothing: string): void => {
  if (!rows[0]) return print(nothing)
  const names = Object.keys(rows[0])
  const lines = [names, ...rows.map(row => names.map(name => text(row[name] ?? null)))]
  const widths = names.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)))
  for (const line of lines)
    print(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

const text = (cell: Cell): string => (cell instanceof Date ? cell.toISOString() : String(cell ?? '-'))

/** Every fault of a file with its path, on standard error. */
export const printFaults = (file: string, faults: Faults, json: boolean): void => {
  if (json) return printJson({ errors: faults })
  process.stderr.write(`${file} was not applied:\n`)
  for (const [path, sentences] of Object.entries(faults))
    for (const sentence of sentences) process.stderr.write(`  ${path || 'the file'}: ${sentence}\n`)
}
