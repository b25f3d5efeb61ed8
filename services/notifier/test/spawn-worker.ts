import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { createFixture } from './fixture.ts'

type Fixture = Pick<Awaited<ReturnType<typeof createFixture>>, 'url' | 'baseUrl' | 'keys'>

/** Runs a worker on the fixture's database and simulator until the test ends; resolves when the worker is ready. */
export const spawnWorker = async (t: Test, { url, baseUrl, keys }: Fixture, more: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('worker.ts', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DATABASE_URL: url, API_URL: baseUrl, KEYS: keys, ...more },
  })
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  t.teardown(() => end('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) if (line === 'ready') break
  return {
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  }
}
