// npm run bench [-- NAME ...]: runs the named benchmarks, or all of them. --help explains.
import { parseArgs } from 'node:util'
import { print, printJson, printTable } from '@courier/shared/cli/command-line.ts'
import { runTool } from '../dev/tool.ts'
import { type BenchOptions, type Cell, startBed, type TableRow, type Tools } from './bench.ts'
import { bulk } from './bulk.ts'
import { compare } from './compare.ts'
import { moves } from './moves.ts'
import { notifier } from './notifier.ts'
import { read } from './read.ts'

const benches: Record<string, (options: BenchOptions, tools: Tools) => Cell[]> = { bulk, moves, read, notifier }

const help = `npm run bench -- [NAME ...] [OPTION ...]     Measures; without a name all of these:

  bulk      orders/s of the bulk request, beside a bare statement that writes the same rows
  moves     deliveries/s, beside the same moves to a status that books no money (not with --against)
  read      requests/s of one order, pages and cities, beside a bare Fastify route and the bare select
  notifier  messages/s from queued to accepted, beside a bare undici loop; updates/s of webhooks

  --rounds N            rounds of each cell, ours and the baselines in turn; medians are printed (default 5)
  --seconds N           length of one measurement (default 1.4)
  --batch N,N           only these batch sizes; notifier: updates of a webhook
  --connections N,N     only these numbers of connections
  --against COMMIT      the services of that commit in place of the baselines
  --profile FOLDER      writes a CPU profile of the service into FOLDER (slows it)
  --json                prints JSON

Each baseline is measured in turn with ours; "ratio to" it is ours by it. p50 and p99 are of our responses. The columns
in us are CPU per order, request, message or update: of the service, of Postgres, of the client; --json has those of the
baselines too. Each run has processes and databases of its own in TMPDIR, gone afterwards; settings of the service may
stand in the environment, such as DATABASE_CONNECTIONS=16. Only ratios travel from one machine to another. A short run:
--rounds 1 --seconds 1 --batch 1000.`

const readArguments = () => {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const texts = { rounds: text, seconds: text, batch: text, connections: text, profile: text, against: text }
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
  }
  if (!(options.seconds > 0 && options.seconds <= 600))
    throw new Error(`--seconds must be a number above 0 and at most 600, not ${values.seconds}`)
  const all = Object.keys(benches).filter(name => name !== 'moves' || values.against === undefined)
  return { names: positionals.length > 0 ? positionals : all, options, ...values }
}

const wholeNumber = (name: string, text: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${name} must be a whole number from 1, not ${text}`)
  return Number(text)
}

/** Removes the CPU of baselines, which makes a table too wide to read. */
const withoutDetails = (row: TableRow): TableRow =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !/ (Node|Postgres) us$/.test(name)))

await runTool(async cleanUps => {
  const { names, options, json, against, profile, help: isHelp } = readArguments()
  if (isHelp) return print(help)
  const { tools, startOurs, startTheirs } = await startBed({ commit: against, profileFolder: profile }, cleanUps)
  const rows: TableRow[] = []
  for (const cell of names.flatMap(name => benches[name]?.(options, tools) ?? [])) {
    const ours = await startOurs(cell.service)
    const theirs = async () => ({ [`${against}`]: await cell.measure(await startTheirs(cell.service)) })
    const floors = await (against === undefined ? cell.floors(ours) : theirs())
    const row = await compare(cell, { ours: await cell.measure(ours), floors }, options)
    rows.push(row)
    if (!json) printTable([withoutDetails(row)], '')
  }
  if (json) printJson(rows)
})
