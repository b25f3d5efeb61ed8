import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { root } from './settings.ts'
import type { Teardown } from './test-database.ts'

export type Environment = Record<string, string>

interface ProcessOptions {
  /** Lists the flags of Node. */
  flags?: readonly string[]
  /** Prints the output of the service, instead of keeping it in `lines`. */
  isShown?: boolean
}

/** Runs a service as a process of its own at an address that it keeps, so that tests can kill and restart it. */
export class ServiceProcess {
  readonly url: string
  readonly environment: Environment
  /** Holds the output of all its runs, by line. */
  readonly lines: string[] = []
  readonly #command: string[]
  readonly #output: StdioOptions
  #child: ChildProcess | undefined

  /** `file` is relative to the root of the repository. */
  constructor(
    file: string,
    url: string,
    environment: Environment,
    { flags = [], isShown = false }: ProcessOptions = {},
  ) {
    this.url = url
    this.environment = { LOG_LEVEL: 'info', HOST: '127.0.0.1', ...environment }
    this.#command = [...flags, resolve(root, file)]
    this.#output = isShown ? 'inherit' : ['ignore', 'pipe', 'pipe']
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get isRunning(): boolean {
    return this.#child !== undefined && !this.#hasEnded()
  }

  start(): void {
    const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...this.environment }
    const child = spawn(process.execPath, this.#command, { env, stdio: this.#output })
    for (const input of [child.stdout, child.stderr])
      if (input) createInterface({ input }).on('line', line => this.lines.push(line))
    this.#child = child
  }

  #hasEnded(): boolean {
    return this.#child?.exitCode != null || this.#child?.signalCode != null
  }

  /** Resolves to the exit status or signal of the process that was started last. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    const child = this.#child
    if (child && !this.#hasEnded()) await once(child, 'exit')
    return child?.exitCode ?? child?.signalCode ?? null
  }

  /** Sends the signal and waits for the exit. Returns the exit status; null when a signal ended the process. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#child
    const ended = this.ended()
    if (!this.#hasEnded()) child?.kill(signal)
    await ended
    return child?.exitCode ?? null
  }

  async ready(seconds = 180): Promise<void> {
    const end = performance.now() + seconds * 1000
    while (performance.now() < end && !this.#hasEnded()) {
      const response = await fetch(`${this.url}/health/ready`).catch(() => undefined)
      if (response?.ok) return
      await delay(100)
    }
    throw new Error(`${this.#command.at(-1)} is not ready:\n${this.lines.slice(-5).join('\n')}`)
  }
}

/** Starts a program, on settings that may be wrong, in a process of its own, which ends with the test. */
export const launch = (t: Teardown, file: string, settings: Environment) => {
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings }
  const child = spawn(process.execPath, [resolve(root, file)], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout }).on('line', line => lines.push(line))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', text => (stderr += text))
  /** Resolves to the exit status when all output has arrived. */
  const ended = Promise.all([once(child, 'close'), once(reader, 'close')]).then(([[status]]) => status as number | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  /** Waits until the program listens, for a minute at most. Returns its address. */
  const listening = async (): Promise<string> => {
    const end = performance.now() + 60_000
    while (performance.now() < end && child.exitCode === null && child.signalCode === null) {
      const address = lines.map(line => /listening at (http:[^"]+)/.exec(line)?.[1]).find(Boolean)
      if (address) return address
      await delay(20)
    }
    throw new Error(`${file} does not listen: ${stderr}`)
  }
  return { child, ended, lines, listening, stderr: () => stderr, output: () => lines.join('\n') + stderr }
}

/**
 * Runs a program in a process of its own until the test ends, with `more` in its environment. Resolves when it prints
 * `ready`.
 */
export const spawnReady = async (t: Teardown, file: string, more: Environment) => {
  const env = { ...process.env, ...more }
  const child = spawn(process.execPath, [resolve(root, file)], { stdio: ['ignore', 'pipe', 'inherit'], env })
  const end = async (signal: NodeJS.Signals): Promise<void> => {
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

const run = promisify(execFile)

/**
 * Runs an operator's command of a service, from the code in `folder`, with `input` as standard input. Returns the
 * JSON that it prints, parsed.
 */
export const runAdmin = async (
  service: 'orders' | 'notifier',
  words: readonly string[],
  { env = process.env, input = '', folder = root }: { env?: NodeJS.ProcessEnv; input?: string; folder?: string } = {},
): Promise<unknown> => {
  const file = resolve(folder, 'services', service, 'admin.ts')
  const own = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env }
  const running = run(process.execPath, [file, ...words, '--json'], { env: own })
  running.child.stdin?.end(input)
  return JSON.parse((await running).stdout)
}
