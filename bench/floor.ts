// A process that puts the rows of a batch into the tables by one bare statement, as fast as the driver can.
import pg from 'pg'
import type { FloorRows } from './floor-rows.ts'
import { runTasks } from './processes.ts'
import { type Measurement, repeatFor } from './repeat.ts'

export interface FloorTask {
  /** As the role of the service: row-level security counts here too. */
  databaseUrl: string
  tenant: string
  rows: FloorRows
  connections: number
  seconds: number
}

const clients: pg.Client[] = []
let nextNumber = 0

const runFloor = async ({ databaseUrl, tenant, rows, connections, seconds }: FloorTask): Promise<Measurement> => {
  while (clients.length < connections) clients.push(await connect(databaseUrl, tenant))
  const { statement, batches, ordersPerBatch } = rows
  let turn = 0
  const write = (client: pg.Client) => () => {
    const values = [newWaybills(ordersPerBatch), ...(batches[turn++ % batches.length] ?? [])]
    return client.query({ name: 'floor', text: statement, values })
  }
  return repeatFor(seconds, clients.slice(0, connections).map(write))
}

const connect = async (connectionString: string, tenant: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(`select set_config('app.tenant', $1, false)`, [tenant])
  return client
}

/** An array literal of numbers in rising order, as the service gives them to a batch. */
const newWaybills = (count: number): string => {
  const waybills = Array.from({ length: count }, () => `FL${String(nextNumber++).padStart(8, '0')}`)
  return `{${waybills.join(',')}}`
}

runTasks(runFloor)
