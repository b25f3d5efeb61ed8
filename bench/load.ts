// A process that calls a service over HTTP. Only answers of 200 count: any other fails the task.
import { Agent, request } from 'node:http'
import { runTasks } from './processes.ts'
import { type Measurement, repeatFor } from './repeat.ts'

export interface LoadTask {
  url: string
  headers: Record<string, string>
  /** Sent in turn. */
  bodies: string[]
  connections: number
  seconds: number
}

const runLoad = async ({ url, headers, bodies, connections, seconds }: LoadTask): Promise<Measurement> => {
  const prepared = bodies.map(body => Buffer.from(body))
  const agents = Array.from({ length: connections }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  let turn = 0
  try {
    return await repeatFor(
      seconds,
      agents.map(agent => () => post(url, headers, prepared[turn++ % prepared.length] as Buffer, agent)),
    )
  } finally {
    for (const agent of agents) agent.destroy()
  }
}

const post = (url: string, headers: Record<string, string>, body: Buffer, agent: Agent): Promise<void> =>
  new Promise((resolve, reject) => {
    const options = { method: 'POST', agent, headers: { ...headers, 'content-length': body.length } }
    const call = request(url, options, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', part => {
        text += part
      })
      answer.on('error', reject)
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 500)}`))
      })
    })
    call.on('error', reject)
    call.end(body)
  })

runTasks(runLoad)
