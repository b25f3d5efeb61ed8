// A process that calls a service over HTTP. Only answers of 200 count: any other fails the task.
import { createHmac, randomUUID } from 'node:crypto'
import { type Call, Connection, prepare } from './http-call.ts'
import { appSecret, idOf, numberOf } from './notifier-messages.ts'
import { runTasks } from './processes.ts'
import { type Measurement, repeat } from './repeat.ts'

export interface LoadTask {
  /** Of the service. */
  url: string
  work: LoadWork
  connections: number
  seconds: number
  /** Calls at this pace; without it each connection calls again as soon as it has its answer. */
  requestsPerSecond?: number | undefined
}

export type LoadWork =
  /** Made in turn; keyed: each with an Idempotency-Key of its own. */
  | { kind: 'calls'; headers: Record<string, string>; calls: Call[]; isKeyed?: boolean }
  /** Signed updates, each of a message that has not had it yet. So many messages wait for updates: each gets two. */
  | { kind: 'webhooks'; messages: number; updatesPerCall: number }

type Act = (connection: Connection) => Promise<void>

const callInTurn = (url: string, { headers, calls, isKeyed }: Extract<LoadWork, { kind: 'calls' }>): Act => {
  const prepared = calls.map(call => prepare(url, headers, call))
  let turn = 0
  return connection => {
    const call = prepared[turn++ % prepared.length]
    if (!call) throw new Error('there is no call to make')
    return connection.send(call, isKeyed ? `\r\nidempotency-key: ${randomUUID()}` : '')
  }
}

const postUpdates = (url: string, work: Extract<LoadWork, { kind: 'webhooks' }>): Act => {
  let next = 0
  return connection => {
    const body = updatesFrom(next, work)
    next += work.updatesPerCall
    const signature = createHmac('sha256', appSecret).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
    return connection.send(prepare(url, headers, { path: '/webhooks/messaging', body }))
  }
}

/** As the messaging API writes them: all of one number. */
const updatesFrom = (first: number, { updatesPerCall, messages }: { updatesPerCall: number; messages: number }) => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const statuses = Array.from({ length: updatesPerCall }, (_, index) => {
    const status = ['delivered', 'read'][Math.floor((first + index) / messages)]
    if (status === undefined) throw new Error(`${messages} messages are too few for this bench: measure fewer seconds`)
    const id = idOf(((first + index) % messages) + 1)
    return { id: `wamid.${id}`, status, timestamp, recipient_id: '94770000000', biz_opaque_callback_data: id }
  })
  const metadata = { display_phone_number: '94112000000', phone_number_id: numberOf.large }
  const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, statuses } }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '102290129340398', changes }] })
}

const runLoad = async ({ url, work, seconds, requestsPerSecond, ...task }: LoadTask): Promise<Measurement> => {
  const connections = await Promise.all(Array.from({ length: task.connections }, () => Connection.open(url)))
  const act = work.kind === 'calls' ? callInTurn(url, work) : postUpdates(url, work)
  try {
    return await repeat(
      seconds,
      requestsPerSecond,
      connections.map(connection => () => act(connection)),
    )
  } finally {
    for (const connection of connections) connection.close()
  }
}

runTasks(runLoad)
