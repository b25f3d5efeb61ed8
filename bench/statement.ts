import pg from 'pg'
import { type Measurement, repeat } from './repeat.ts'

/** Describes one bare statement, which runs over and over, as fast as the driver can. */
export interface StatementWork {
  kind: 'statement'
  tenant: string
  text: string
  /** Lists the values to send in turn; with `newWaybills`, an array of that many new waybills precedes each of them. */
  values: (string | null)[][]
  newWaybills?: number
}

const clientsByUrl = new Map<string, pg.Client[]>()
let nextNumber = 0

/** Runs the statement as the role of the service, because row-level security is part of the cost. */
export const runStatement = async (
  databaseUrl: string,
  { tenant, text, values, newWaybills: count }: StatementWork,
  connections: number,
  seconds: number,
): Promise<Measurement> => {
  const clients = clientsByUrl.get(databaseUrl) ?? []
  clientsByUrl.set(databaseUrl, clients)
  while (clients.length < connections) clients.push(await connect(databaseUrl, tenant))
  const name = nameStatement(text)
  const first = (): string[] =>
    count === undefined ? [] : [`{${Array.from({ length: count }, makeWaybill).join(',')}}`]
  let turn = 0
  const act = (client: pg.Client) =>
    client.query({ name, text, values: [...first(), ...(values[turn++ % values.length] ?? [])] })
  return repeat(
    seconds,
    clients.slice(0, connections).map(client => () => act(client)),
  )
}

const connect = async (databaseUrl: string, tenant: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: databaseUrl })
  // Postgres stops before this process, which breaks the connection.
  client.on('error', () => {})
  await client.connect()
  await client.query(`select set_config('app.tenant', $1, false)`, [tenant])
  return client
}

/** Returns the next waybill: waybills rise, as do those that the service assigns to a batch. */
const makeWaybill = (): string => `FL${String(nextNumber++).padStart(8, '0')}`

const names = new Map<string, string>()
/** Returns the name of a statement, by which Postgres finds the prepared statement again. */
const nameStatement = (text: string): string => {
  const name = names.get(text) ?? `baseline_${names.size}`
  names.set(text, name)
  return name
}
