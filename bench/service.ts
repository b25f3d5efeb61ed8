import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../dev/ports.ts'
import { root, serviceFlags } from '../dev/settings.ts'

export interface ServiceOptions {
  name: string
  /** From the root of the repository. */
  file: string
  portSetting: string
  environment: Record<string, string>
  profileFolder?: string | undefined
}

export interface Service {
  url: string
  /** From the start of the process until it was ready. */
  readySeconds: number
}

/** Flags of a Node process that writes a CPU profile when it ends. */
export const profileFlags = (folder: string | undefined): string[] =>
  folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]

/** Starts a service as a process of its own and waits until it is ready. */
export const startService = async (options: ServiceOptions, cleanUps: AsyncDisposableStack): Promise<Service> => {
  const { name, file, portSetting, environment, profileFolder } = options
  const port = await freePort()
  const start = performance.now()
  const child = spawn(process.execPath, [...serviceFlags, ...profileFlags(profileFolder), join(root, file)], {
    stdio: ['ignore', 2, 2],
    env: {
      LOG_LEVEL: 'warn',
      SERVICE_TOKEN: 'a-service-token-of-benches',
      ...process.env,
      ...environment,
      HOST: '127.0.0.1',
      [portSetting]: String(port),
    },
  })
  const ended = once(child, 'exit')
  cleanUps.defer(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await waitUntilReady(name, url, child)
  return { url, readySeconds: (performance.now() - start) / 1000 }
}

const pauseMilliseconds = 10

const waitUntilReady = async (name: string, url: string, child: ChildProcess): Promise<void> => {
  for (let tries = 0; tries < 30_000 / pauseMilliseconds; tries++) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended: see its log above.`)
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined)
    if (answer?.ok) return
    await delay(pauseMilliseconds)
  }
  throw new Error(`${name} was not ready after half a minute.`)
}
