// A process that calls a service over HTTP. Only answers of 200 count: any other fails the task.
import { randomUUID } from 'node:crypto'
import { type Call, Connection, type Prepared, prepare } from './http-call.ts'
import { runTasks } from './processes.ts'
import { type Measurement, paceFor, repeatFor } from './repeat.ts'

export interface LoadTask {
  /** Of the service. */
  url: string
  headers: Record<string, string>
  /** Made in turn. */
  calls: Call[]
  connections: number
  seconds: number
  /** Each call carries an Idempotency-Key of its own. */
  isKeyed?: boolean
  /** Calls at this pace; without it each connection calls again as soon as it has its answer. */
  callsPerSecond?: number
}

const runLoad = async (task: LoadTask): Promise<Measurement> => {
  const prepared = task.calls.map(call => prepare(task.url, task.headers, call))
  const connections = await Promise.all(Array.from({ length: task.connections }, () => Connection.open(task.url)))
  let turn = 0
  const actions = connections.map(connection => () => {
    const call = prepared[turn++ % prepared.length] as Prepared
    return connection.send(call, task.isKeyed ? `\r\nidempotency-key: ${randomUUID()}` : '')
  })
  try {
    return await (task.callsPerSecond === undefined
      ? repeatFor(task.seconds, actions)
      : paceFor(task.seconds, task.callsPerSecond, actions))
  } finally {
    for (const connection of connections) connection.close()
  }
}

runTasks(runLoad)
