import { readFile } from 'node:fs/promises'
import { text as readText } from 'node:stream/consumers'
import type { FieldErrors } from '../errors/errors.ts'
import { CommitInDoubt, isUnavailable } from '../postgres/database.ts'
import { UnsupportedPostgres } from '../postgres/migrate.ts'

/** Reports that the command cannot run as given; `message` says why and how to fix it. */
export class UsageError extends Error {
  override name = 'UsageError'
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2))

type Cell = string | number | boolean | Date | null

/** Prints columns under their names, or the sentence `nothing` when there are no rows. */
export const printTable = (rows: Record<string, Cell>[], nothing: string): void => {
  if (!rows[0]) return print(nothing)
  const names = Object.keys(rows[0])
  const lines = [names, ...rows.map(row => names.map(name => format(row[name] ?? null)))]
  const widths = names.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)))
  for (const line of lines)
    print(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

const format = (cell: Cell): string => (cell instanceof Date ? cell.toISOString() : String(cell ?? '-'))

/** Prints each error of a file or other input that was not `done`, on standard error, or as JSON on standard output. */
export const printFieldErrors = (file: string, errors: FieldErrors, json: boolean, done = 'applied'): void => {
  if (json) return printJson({ errors: errors })
  process.stderr.write(`${file} was not ${done}:\n`)
  for (const [path, sentences] of Object.entries(errors))
    for (const sentence of sentences) process.stderr.write(`  ${path || 'the file'}: ${sentence}\n`)
}

/**
 * Reads the JSON of a file, or of standard input for `-`. Throws UsageError without any content of the file, which
 * holds secrets.
 */
export const readJson = async (path: string): Promise<unknown> => {
  const reading = path === '-' ? readText(process.stdin) : readFile(path, 'utf8')
  const text = await reading.catch(error => {
    throw new UsageError(`cannot read ${path}: ${error.code}`)
  })
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    throw new UsageError(`${path} is not valid JSON: ${locateProblem(text.replace(/^\uFEFF/, ''))}`)
  }
}

/** Says where a text stops being JSON. JSON.parse itself quotes the text, and often names no place. */
const locateProblem = (text: string): string => {
  let [good, bad] = [0, text.length + 1]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (beginsJson(text.slice(0, middle))) good = middle
    else bad = middle
  }
  const lines = text.slice(0, good).split(/\r\n?|\n/)
  const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
  return good === text.length ? `it ends too early, at ${place}` : place
}

/** Returns true if more text could make it JSON: JSON.parse then complains about its end. */
const beginsJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const [, end, position] = / (end of JSON input)$| at position (\d+) /.exec(String(error)) ?? []
    return end !== undefined || Number(position) === text.length
  }
}

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Reads the time of an ISO 8601 text; undefined for other text. */
export const readTime = (text: string): Date | undefined => {
  const time = new Date(isoTime.test(text) ? text : Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** Runs an operator's command, and prints advice about a failure on standard error. */
export const runCommand = async (
  action: () => Promise<unknown>,
  { program, databaseSetting }: { program: string; databaseSetting: string },
): Promise<void> => {
  try {
    await action()
  } catch (error) {
    const advice = writeAdvice(error as Failure, program, databaseSetting)
    if (advice === undefined) throw error
    process.stderr.write(`${program}: ${advice}\n`)
    process.exitCode = 1
  }
}

type Failure = Error & { code?: string; severity?: string }

/** Returns advice for the operator; undefined for a bug in our code. */
const writeAdvice = (error: Failure, program: string, databaseSetting: string): string | undefined => {
  if (error instanceof UsageError || error instanceof UnsupportedPostgres) return error.message
  if (error instanceof CommitInDoubt)
    return 'the connection to Postgres was lost during the commit, so it is not known whether the command was carried out: look before you repeat it'
  if (isUnavailable(error))
    return `Postgres cannot be reached. Start it (npm start, docker compose up) or set ${databaseSetting}: ${error.message || error.code}`
  if (error.code === '42P01') return `the database has no tables yet: run ${program} migrate first`
  if (error.code === '42501')
    return `${error.message}: set ${databaseSetting.replace('_', '_MIGRATE_')} to the role that owns the tables`
  return error.severity && /^(28|3D)/.test(error.code ?? '') ? error.message : undefined
}
