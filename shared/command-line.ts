import { readFile } from 'node:fs/promises'
import { text as readText } from 'node:stream/consumers'
import { isUnavailable } from './database.ts'
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

/** Every fault of a file, or of another thing that was not `done`, with its path, on standard error. */
export const printFaults = (file: string, faults: Faults, json: boolean, done = 'applied'): void => {
  if (json) return printJson({ errors: faults })
  process.stderr.write(`${file} was not ${done}:\n`)
  for (const [path, sentences] of Object.entries(faults))
    for (const sentence of sentences) process.stderr.write(`  ${path || 'the file'}: ${sentence}\n`)
}

/** The JSON of a file, of standard input for `-`. Throws UsageError, which shows nothing of the file: it holds secrets. */
export const readJson = async (path: string): Promise<unknown> => {
  const reading = path === '-' ? readText(process.stdin) : readFile(path, 'utf8')
  const text = await reading.catch(error => {
    throw new UsageError(`cannot read ${path}: ${error.code}`)
  })
  try {
    return JSON.parse(text)
  } catch (error) {
    const place = /line \d+ column \d+/.exec((error as Error).message)?.[0]
    throw new UsageError(
      `${path} is not valid JSON: ${place ? `look at ${place}` : 'it breaks off, or has a wrong character'}`,
    )
  }
}

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/** A time in ISO 8601; undefined for other text. */
export const readTime = (text: string): Date | undefined => {
  const time = new Date(isoTime.test(text) ? text : Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** Runs the operator's command, and tells on standard error what he can do about a failure. */
export const runCommand = async (
  action: () => Promise<unknown>,
  { program, databaseSetting }: { program: string; databaseSetting: string },
): Promise<void> => {
  try {
    await action()
  } catch (error) {
    const told = tell(error as Failure, program, databaseSetting)
    if (told === undefined) throw error
    process.stderr.write(`${program}: ${told}\n`)
    process.exitCode = 1
  }
}

type Failure = Error & { code?: string; severity?: string }

/** What the operator can do about it; undefined for a fault of ours. */
const tell = (error: Failure, program: string, databaseSetting: string): string | undefined => {
  if (error instanceof UsageError) return error.message
  if (isUnavailable(error))
    return `Postgres cannot be reached. Start it (npm start) or set ${databaseSetting}: ${error.message || error.code}`
  if (error.code === '42P01') return `the database has no tables yet: run ${program} migrate first`
  return error.severity && /^(28|3D)/.test(error.code ?? '') ? error.message : undefined
}
