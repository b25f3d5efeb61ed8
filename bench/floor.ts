// Runs one bare statement over and over in a process, as fast as the driver can.
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from } from 'pg-copy-streams'
import { runTasks } from './processes.ts'
import { type Measurement, repeat } from './repeat.ts'

export interface FloorTask {
  /** Connects as the role of the service, because row-level security counts here too; COPY needs a superuser. */
  databaseUrl: string
  tenant: string
  connections: number
  seconds: number
  /** The rate of requests; without it each connection sends the next one after each response. */
  requestsPerSecond?: number | undefined
  work: FloorWork
}

export type FloorWork =
  /** The values in turn; with `newWaybills` that many new ones come first, as an array. */
  | { kind: 'statement'; text: string; values: (string | null)[][]; newWaybills?: number }
  /** The values as before, with one new waybill first. */
  | { kind: 'insert'; text: string; values: (string | null)[][] }
  /** The lines of each batch, each after a new waybill. */
  | { kind: 'copy'; text: string; lines: string[][] }

type Act = (client: pg.Client, turn: number) => Promise<unknown>

const clientsOf = new Map<string, pg.Client[]>()
let nextNumber = 0

const runFloor = async (task: FloorTask): Promise<Measurement> => {
  const { databaseUrl, connections, seconds, requestsPerSecond } = task
  const clients = clientsOf.get(databaseUrl) ?? []
  clientsOf.set(databaseUrl, clients)
  while (clients.length < connections) clients.push(await connect(task))
  const act = actOf(task.work)
  let turn = 0
  const actions = clients.slice(0, connections).map(client => () => act(client, turn++))
  return repeat(seconds, requestsPerSecond, actions)
}

const connect = async ({ databaseUrl, tenant }: FloorTask): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`select set_config('app.tenant', $1, false)`, [tenant])
  return client
}

const actOf = (work: FloorWork): Act => {
  const { text } = work
  if (work.kind === 'copy') {
    const { lines } = work
    return (client, turn) => {
      const batch = lines[turn % lines.length] ?? []
      const copying = client.query(from(text))
      copying.end(batch.map(line => `${newWaybill()}\t${line}\n`).join(''))
      return finished(copying)
    }
  }
  const name = nameOf(text)
  const first = firstValues(work)
  return (client, turn) =>
    client.query({ name, text, values: [...first(), ...(work.values[turn % work.values.length] ?? [])] })
}

const firstValues = (work: FloorWork): (() => string[]) => {
  if (work.kind === 'insert') return () => [newWaybill()]
  const count = work.kind === 'statement' ? work.newWaybills : undefined
  return count === undefined ? () => [] : () => [`{${Array.from({ length: count }, newWaybill).join(',')}}`]
}

/** Returns waybills in rising order, as the service assigns them to a batch. */
const newWaybill = (): string => `FL${String(nextNumber++).padStart(8, '0')}`

const names = new Map<string, string>()
/** Postgres finds a prepared statement by its name. */
const nameOf = (text: string): string => {
  const name = names.get(text) ?? `floor_${names.size}`
  names.set(text, name)
  return name
}

runTasks(runFloor)
