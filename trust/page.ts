import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import { loadPromise, promiseNames } from './promises.ts'

const page = join(root, 'docs/promises.md')
const figures = join(root, 'trust/figures.json')

const readFigures = (): Record<string, string> => JSON.parse(readFileSync(figures, 'utf8'))

/** Renders the table of docs/promises.md: a line for each promise, with the values of its last full run. */
const renderTable = async (): Promise<string> => {
  const measured = readFigures()
  const toRow = async (name: string): Promise<string> => {
    const { promise, limit } = await loadPromise(name)
    return `| \`${name}\` | ${promise} | ${limit} | ${measured[name] ?? 'not run yet'} |\n`
  }
  const rows = await Promise.all(promiseNames.map(toRow))
  return `| NAME | promise | shown by | last results |\n|---|---|---|---|\n${rows.join('')}`
}

/** Returns the page as it is and as it should be. */
export const renderPage = async () => {
  const text = readFileSync(page, 'utf8')
  const table = await renderTable()
  return { text, rendered: text.replace(/\| NAME \|.*?\n(?=\n)/s, () => table) }
}

/** Stores the values of a full run, and writes the page anew. */
export const record = async (rows: readonly { promise: string; measured: string }[]): Promise<void> => {
  const own = Object.fromEntries(rows.map(({ promise, measured }) => [promise, measured]))
  writeFileSync(figures, `${JSON.stringify({ ...readFigures(), ...own }, null, 2)}\n`)
  writeFileSync(page, (await renderPage()).rendered)
}
