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

const help = `npm run bench -- [NAME ...] [OPTION ...]     runs the named benchmarks, or all of these:

  bulk      orders/s of the bulk request, beside a bare statement that writes the same rows
  moves     deliveries/s, beside the same moves to a status that books no money (with --against only if named)
  read      requests/s of one order, pages and cities, beside a bare Fastify route and the bare select
  notifier  messages/s from queued to accepted, beside a bare undici loop; updates/s of webhooks

  --rounds N            measures each cell and its baselines N times and prints the medians (default 5)
  --seconds N           sets the length of one measurement (default 1.4)
  --batch N,N           measures only these batch sizes; notifier: updates in a webhook
  --connections N,N     measures only these numbers of connections
  --against COMMIT      compares with the services of that commit instead of the baselines
  --profile FOLDER      writes a CPU profile of the service into FOLDER, which slows the service
  --json                prints JSON

Each baseline is measured in turn with the service; "ratio to X" is the service's rate divided by that of X. p50 and p99
are of the service's responses. The columns in us show the CPU time of the service, Postgres and the client per order,
request, message or update; --json also shows that of the baselines. Each run creates its own processes and databases in
TMPDIR and removes them afterwards. The environment may set the service's settings, such as DATABASE_CONNECTIONS=16.
Only ratios are comparable between machines. A short run: --rounds 1 --seconds 1 --batch 1000.`

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
    throw new Error(`unknown benchmark: ${unknown.join(', ')}; choose from ${Object.keys(benches).join(', ')}`)
  const options: BenchOptions = {
    rounds: readWholeNumber('rounds', values.rounds ?? '5'),
    seconds: Number(values.seconds ?? '1.4'),
    batches: values.batch?.split(',').map(text => readWholeNumber('batch', text)),
    connections: values.connections?.split(',').map(text => readWholeNumber('connections', text)),
    isCompared: values.against !== undefined,
  }
  if (!(options.seconds > 0 && options.seconds <= 600))
    throw new Error(`--seconds must be a number above 0 and at most 600, not ${values.seconds}`)
  const all = Object.keys(benches).filter(name => name !== 'moves' || values.against === undefined)
  return { names: positionals.length > 0 ? positionals : all, options, ...values }
}

const readWholeNumber = (name: string, text: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${name} must be a whole number from 1, not ${text}`)
  return Number(text)
}

/** Leaves out the CPU of baselines: with it, a table is too wide to read. */
const removeDetails = (row: TableRow): TableRow =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !/ (Node|Postgres) us$/.test(name)))

await runTool(async cleanUps => {
  const { names, options, json, against, profile, help: isHelp } = readArguments()
  if (isHelp) return print(help)
  const { tools, startOurs, startTheirs } = await startBed({ commit: against, profileFolder: profile }, cleanUps)
  const rows: TableRow[] = []
  for (const cell of names.flatMap(name => benches[name]?.(options, tools) ?? [])) {
    const ours = await startOurs(cell.service)
    const theirs = async () => ({ [`${against}`]: await cell.measure(await startTheirs(cell.service)) })
    const baselines = await (against === undefined ? cell.baselines(ours) : theirs())
    const row = await compare(cell, { ours: await cell.measure(ours), baselines }, options)
    rows.push(row)
    if (!json) printTable([removeDetails(row)], '')
  }
  if (json) printJson(rows)
})
