// Sends messages by a bare loop over an undici Pool: bodies made beforehand, without storage.
import { accessToken, apiPath, bodyOf } from './notifier-messages.ts'
import { runTasks } from './processes.ts'
import { type Measurement, measure } from './repeat.ts'
import { type Sender, undici } from './undici.ts'

export interface NotifierFloorTask {
  apiUrl: string
  /** The most messages in flight at once. */
  window: number
  messages: number
}

const pools = new Map<number, Sender>()

const poolFor = ({ apiUrl, window }: NotifierFloorTask): Sender => {
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
