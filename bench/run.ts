// npm run bench [-- NAME ...]: the benchmarks; without a name all of them. --help explains.
import { parseArgs } from 'node:util'
import { print, printJson, printTable } from '@courier/shared/cli/command-line.ts'
import { runTool } from '../dev/tool.ts'
import { compareWithCommit } from './against.ts'
import type { Bench, BenchOptions, TableRow } from './bench.ts'
import { bulk } from './bulk.ts'
import { growth } from './growth.ts'
import { notifier } from './notifier.ts'
import { read } from './read.ts'

const benches: Record<string, Bench> = { bulk, read, notifier, growth }

const help = `npm run bench -- [NAME ...] [OPTION ...]     Measures; without a name all of these:

${Object.entries(benches)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  .join('\n')}

  --rounds N            rounds of each cell, ours and the baselines in turn; medians are printed (default 5)
  --seconds N           length of one measurement (default 1.4)
  --batch N,N           only these batch sizes
  --connections N,N     only these numbers of connections; notifier: of messages on their way at once
  --million N           growth: how many million orders are filled in (default 20)
  --against COMMIT      bulk, read, notifier: the services beside those of that commit, in turn
  --profile FOLDER      writes a CPU profile of the service into FOLDER (slows it)
  --json                prints JSON

Each baseline is measured in turn with ours; "ratio to" it is ours by it. p50 and p99 are of our responses; half: at a steady rate of
half the requests that ours could serve. The columns in us are CPU per order, request or message: of the service, of Postgres, of the
client; --json has those of the baselines too. Each run has processes and databases of its own in TMPDIR, gone afterwards;
settings of the service may stand in the environment, such as DATABASE_CONNECTIONS=16. Only ratios travel from one machine to
another. A short run: --rounds 1 --seconds 1 --batch 1000 --connections 4 --million 1.`

const readArguments = () => {
  const text = { type: 'string' } as const
  const texts = {
    rounds: text,
    seconds: text,
    batch: text,
    connections: text,
    million: text,
    profile: text,
    against: text,
  }
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...texts, json: flag, help: flag },
  })
  const unknown = positionals.filter(name => !Object.hasOwn(benches, name))
  if (unknown.length > 0)
    throw new Error(`there is no bench ${unknown.join(', ')}; there are: ${Object.keys(benches).join(', ')}`)
  const options: BenchOptions = {
    rounds: wholeNumber('rounds', values.rounds ?? '5'),
    seconds: Number(values.seconds ?? '1.4'),
    batches: values.batch?.split(',').map(text => wholeNumber('batch', text)),
    connections: values.connections?.split(',').map(text => wholeNumber('connections', text)),
    millions: wholeNumber('million', values.million ?? '20'),
    profileFolder: values.profile,
  }
  if (!(options.seconds > 0 && options.seconds <= 600))
    throw new Error(`--seconds must be a number above 0 and at most 600, not ${values.seconds}`)
  return { names: positionals.length > 0 ? positionals : Object.keys(benches), options, ...values }
}

const wholeNumber = (name: string, text: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${name} must be a whole number from 1, not ${text}`)
  return Number(text)
}

/** The CPU of baselines makes a table too wide to read. */
const withoutDetails = (row: TableRow): TableRow =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !/ (Node|Postgres) us$/.test(name)))

/** Consecutive rows with the same columns form one table. */
const printTables = (whole: TableRow[]): void => {
  const rows = whole.map(withoutDetails)
  const columnsOf = (row: TableRow): string => Object.keys(row).join()
  let table: TableRow[] = []
  for (const [index, row] of rows.entries()) {
    table.push(row)
    const next = rows[index + 1]
    if (next && columnsOf(next) === columnsOf(row)) continue
    printTable(table, '')
    if (next) print('')
    table = []
  }
}

await runTool(async cleanUps => {
  const { names, options, json, against, help: isHelp } = readArguments()
  if (isHelp) return print(help)
  if (against !== undefined) {
    const rows = await compareWithCommit(against, names, options, cleanUps)
    return json ? printJson(rows) : printTable(rows, '')
  }
  const tables: Record<string, TableRow[]> = {}
  for (const name of names) {
    const ofBench = cleanUps.use(new AsyncDisposableStack())
    tables[name] = (await benches[name]?.run(options, ofBench)) ?? []
    await ofBench.disposeAsync()
    if (!json) printTables(tables[name])
  }
  if (json) printJson(tables)
})
