// A process that calls the webhook with signed updates, each of a message that has not had it yet.
import { createHmac } from 'node:crypto'
import { Connection, prepare } from './http-call.ts'
import { appSecret, idOf, numberOf } from './notifier-messages.ts'
import { runTasks } from './processes.ts'
import { type Measurement, paceFor, repeatFor } from './repeat.ts'

export interface WebhookLoadTask {
  /** Of the service. */
  url: string
  connections: number
  seconds: number
  callsPerSecond?: number
  /** How many messages wait for updates: each gets two. */
  messages: number
  updatesPerCall: number
}

const statuses = ['delivered', 'read']

const runLoad = async (task: WebhookLoadTask): Promise<Measurement> => {
  const connections = await Promise.all(Array.from({ length: task.connections }, () => Connection.open(task.url)))
  let next = 0
  const call = (connection: Connection) => () => {
    const first = next
    next += task.updatesPerCall
    const body = bodyFrom(first, task)
    const signature = createHmac('sha256', appSecret).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
    return connection.send(prepare(task.url, headers, { path: '/webhooks/messaging', body }))
  }
  try {
    return await (task.callsPerSecond === undefined
      ? repeatFor(task.seconds, connections.map(call))
      : paceFor(task.seconds, task.callsPerSecond, connections.map(call)))
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** As the messaging API writes them: all of one number. */
const bodyFrom = (first: number, { updatesPerCall, messages }: WebhookLoadTask): string => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const updates = Array.from({ length: updatesPerCall }, (_, index) => {
    const status = statuses[Math.floor((first + index) / messages)]
    if (status === undefined) throw new Error(`${messages} messages are too few for this bench: measure fewer seconds`)
    const id = idOf(((first + index) % messages) + 1)
    return { id: `wamid.${id}`, status, timestamp, recipient_id: '94770000000', biz_opaque_callback_data: id }
  })
  const metadata = { display_phone_number: '94112000000', phone_number_id: numberOf.large }
  const value = { messaging_product: 'whatsapp', metadata, statuses: updates }
  return JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '102290129340398', changes: [{ field: 'messages', value }] }],
  })
}

runTasks(runLoad)
