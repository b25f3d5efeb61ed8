// Sends requests to a service, or a statement to a database, from its own process. Only responses with status 200
// count: any other status fails the task.
import { createHmac, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import { accessToken, apiPath, appSecret, formatId, formatMessage, phoneNumberIds } from './notifier-messages.ts'
import { runTasks } from './processes.ts'
import { type Measurement, repeat } from './repeat.ts'
import { runStatement, type StatementWork } from './statement.ts'

interface Connection {
  request: (options: object) => Promise<{ statusCode: number; body: { text: () => Promise<string> } }>
  destroy: () => Promise<void>
}
type ClientClass = new (origin: string, options: object) => Connection

/** Loads the notifier's undici: the root has another version. */
const { Client }: { Client: ClientClass } = createRequire(join(root, 'services/notifier/package.json'))('undici')

/** Describes a request: a POST if it has a body, otherwise a GET. */
interface LoadRequest {
  path: string
  body?: string
}

export interface LoadTask {
  /** Names the address of the service, or of the database for a statement. */
  url: string
  /** Identifies the work in this process; later tasks with the same work leave it out, since it may have megabytes. */
  workId: number
  work?: LoadWork
  connections: number
  seconds: number
}

export type LoadWork =
  /** Sends the requests in turn; `isKeyed` gives each request its own Idempotency-Key. */
  | { kind: 'requests'; headers: Record<string, string>; requests: LoadRequest[]; isKeyed?: boolean }
  /** Sends signed updates, two for each of `messages` waiting messages, and repeats no update. */
  | { kind: 'webhooks'; messages: number; updatesPerRequest: number }
  /** Sends messages to the API, as the notifier does. */
  | { kind: 'messages' }
  | StatementWork

type Act = (connection: Connection) => Promise<void>

const send = async (
  connection: Connection,
  { path, body }: LoadRequest,
  headers: Record<string, string>,
): Promise<void> => {
  const method = body === undefined ? 'GET' : 'POST'
  const response = await connection.request({ path, method, headers, body: body ?? null })
  const text = await response.body.text()
  if (response.statusCode !== 200) throw new Error(`the response is ${response.statusCode}: ${text.slice(0, 1000)}`)
}

const sendInTurn = ({ headers, requests, isKeyed }: Extract<LoadWork, { kind: 'requests' }>): Act => {
  let turn = 0
  return connection => {
    const request = requests[turn++ % requests.length]
    if (!request) throw new Error('there is no request to send')
    return send(connection, request, isKeyed ? { ...headers, 'idempotency-key': randomUUID() } : headers)
  }
}

const postUpdates = (work: Extract<LoadWork, { kind: 'webhooks' }>): Act => {
  let next = 0
  return connection => {
    const body = formatUpdates(next, work)
    next += work.updatesPerRequest
    const signature = createHmac('sha256', appSecret).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
    return send(connection, { path: '/webhooks/messaging', body }, headers)
  }
}

/** Formats updates as the messaging API does: all updates of a body are for one number. */
const formatUpdates = (
  first: number,
  { updatesPerRequest, messages }: { updatesPerRequest: number; messages: number },
) => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const statuses = Array.from({ length: updatesPerRequest }, (_, index) => {
    const status = ['delivered', 'read'][Math.floor((first + index) / messages)]
    if (status === undefined) throw new Error(`${messages} messages are too few: measure fewer seconds`)
    const id = formatId(((first + index) % messages) + 1)
    return { id: `wamid.${id}`, status, timestamp, recipient_id: '94770000000', biz_opaque_callback_data: id }
  })
  const metadata = { display_phone_number: '94112000000', phone_number_id: phoneNumberIds.large }
  const changes = [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, statuses } }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '102290129340398', changes }] })
}

const sendMessages = (): Act => {
  const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
  let position = 0
  return connection => send(connection, { path: apiPath, body: formatMessage(++position) }, headers)
}

const createAct = (work: Exclude<LoadWork, StatementWork>): Act => {
  if (work.kind === 'requests') return sendInTurn(work)
  return work.kind === 'webhooks' ? postUpdates(work) : sendMessages()
}

const works = new Map<number, LoadWork>()

const runLoad = async ({ url, workId, seconds, connections: count, ...task }: LoadTask): Promise<Measurement> => {
  if (task.work) works.set(workId, task.work)
  const work = works.get(workId)
  if (!work) throw new Error(`nobody has sent work ${workId}`)
  if (work.kind === 'statement') return runStatement(url, work, count, seconds)
  const connections = Array.from({ length: count }, () => new Client(url, { pipelining: 1, allowH2: false }))
  const act = createAct(work)
  const actions = connections.map(connection => () => act(connection))
  return repeat(seconds, actions).finally(() => Promise.all(connections.map(connection => connection.destroy())))
}

runTasks(runLoad)
