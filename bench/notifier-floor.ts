// A process that sends messages by a bare loop over an undici Pool: bodies made beforehand, nothing stored.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import { accessToken, apiPath, bodyOf } from './notifier-messages.ts'
import { runTasks } from './processes.ts'
import { type Measurement, measure } from './repeat.ts'

export interface NotifierFloorTask {
  apiUrl: string
  /** How many messages may be on their way at once. */
  window: number
  messages: number
}

interface Pool {
  request: (options: object) => Promise<{ statusCode: number; body: { text: () => Promise<string> } }>
}

/** The undici of the notifier: the one at the root is another version. */
const requireAsNotifier = createRequire(join(root, 'services/notifier/package.json'))
const undici: { Pool: new (origin: string, options: object) => Pool } = requireAsNotifier('undici')

const pools = new Map<number, Pool>()

const poolFor = ({ apiUrl, window }: NotifierFloorTask): Pool => {
  const pool = pools.get(window) ?? new undici.Pool(apiUrl, { connections: window, pipelining: 1, allowH2: false })
  pools.set(window, pool)
  return pool
}

const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }

const runFloor = async (task: NotifierFloorTask): Promise<Measurement> => {
  const pool = poolFor(task)
  const bodies = Array.from({ length: task.messages }, (_, index) => bodyOf(index + 1))
  return measure(async (start, ended) => {
    const sendNext = async (): Promise<void> => {
      for (let body = bodies.pop(), begun = start; body !== undefined; body = bodies.pop()) {
        const answer = await pool.request({ method: 'POST', path: apiPath, headers, body })
        const text = await answer.body.text()
        if (answer.statusCode !== 200) throw new Error(`the simulator answered ${answer.statusCode}: ${text}`)
        begun = ended(begun)
      }
    }
    await Promise.all(Array.from({ length: task.window }, sendNext))
  })
}

runTasks(runFloor)
