import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './settings.ts'
import type { Group } from './test-files.ts'

/** Begins the line that dev/test-folder.ts prints after each file, before its outcome. */
export const mark = '# courier: file ended '

export interface Outcome {
  file: string
  seconds: number
  passed: number
  failed: number
  /** Its process takes no other file. */
  isLast: boolean
}

export interface Result extends Omit<Outcome, 'isLast'> {
  output: string
}

const running = new Set<number>()

const signal = (group: number, name: NodeJS.Signals): void => {
  try {
    process.kill(-group, name)
  } catch {}
}

/** Interrupts the tests that run, and kills those that do not end within 15 seconds. */
export const stopProcesses = async (): Promise<void> => {
  for (const group of running) signal(group, 'SIGTERM')
  for (let tries = 0; tries < 300 && running.size > 0; tries++) await delay(50)
  for (const group of running) signal(group, 'SIGKILL')
}

/** Starts Node in a group of processes that ends with it. `ended` resolves to its status after its last output. */
const start = (args: readonly string[], env: NodeJS.ProcessEnv, onOutput: (text: string) => void) => {
  const child = spawn(process.execPath, args, { cwd: root, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const group = child.pid ?? 0
  running.add(group)
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onOutput)
  child.stdin.on('error', () => {})
  const end = async (): Promise<number | null> => {
    const [status] = await once(child, 'exit')
    signal(group, 'SIGKILL')
    running.delete(group)
    await Promise.race([once(child, 'close'), delay(1_000)])
    return status
  }
  return { child, ended: end() }
}

/** Runs one test file, with its words as arguments. */
const runAlone = async (group: Group, env: NodeJS.ProcessEnv): Promise<Result> => {
  const started = performance.now()
  const file = group.files.shift() ?? ''
  let output = ''
  const [path = ''] = file.split(' ')
  const hooks = path.endsWith('.test.ts') ? ['--import', resolve(import.meta.dirname, 'test-hooks.ts')] : []
  const { child, ended } = start([...hooks, resolve(root, path), ...group.words], env, text => (output += text))
  child.stdin.end()
  const status = await ended
  const summary = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?/m.exec(output)
  const failed = Number(summary?.[2] ?? 0)
  return {
    file,
    seconds: (performance.now() - started) / 1000,
    passed: Number(summary?.[1] ?? (status === 0 ? 1 : 0)),
    failed: status === 0 ? failed : Math.max(failed, 1),
    output,
  }
}

/** Is longer than any test file takes to close what it opened. */
const secondsToExit = 60

/** Runs files of a group in one process, until none waits. A file that ends the process fails; the others wait. */
const runFolder = async (group: Group, env: NodeJS.ProcessEnv, report: (result: Result) => void): Promise<void> => {
  let output = ''
  let file: string | undefined
  let hasFailed = false
  let timer: NodeJS.Timeout | undefined
  const give = (result: Result): void => {
    hasFailed ||= result.failed > 0
    report(result)
  }
  const feed = ({ stdin, pid = 0 }: ChildProcess, isLast = false): void => {
    file = isLast ? undefined : group.files.shift()
    if (file !== undefined) stdin?.write(`${file.split(' ')[0]}\n`)
    else {
      stdin?.end()
      timer = setTimeout(() => signal(pid, 'SIGKILL'), secondsToExit * 1000)
    }
  }
  const { child, ended } = start(['dev/test-folder.ts', ...group.words], env, text => {
    const from = Math.max(0, output.length - 1_000)
    output += text
    const at = output.indexOf(mark, from)
    const end = output.indexOf('\n', at)
    if (at === -1 || end === -1) return
    const { isLast, ...outcome }: Outcome = JSON.parse(output.slice(at + mark.length, end))
    give({ ...outcome, file: file ?? outcome.file, output: output.slice(0, at) })
    output = output.slice(end + 1)
    feed(child, isLast)
  })
  const started = performance.now()
  feed(child)
  const status = await ended
  clearTimeout(timer)
  const seconds = (performance.now() - started) / 1000
  const died = { seconds, passed: 0, failed: 1 }
  if (file !== undefined)
    report({ ...died, file, output: `${output}\nThe process ended before the file did (status ${status}).` })
  else if (status !== 0 && !hasFailed)
    report({
      ...died,
      file: 'the end of a process',
      output: `${output}\nIt ended with status ${status}: null means that a test left something open.`,
    })
}

/** Runs files of a group until none waits or, for a single file, until it has ended. */
export const runGroup = async (
  group: Group,
  env: NodeJS.ProcessEnv,
  report: (result: Result) => void,
): Promise<void> => {
  const environment = { ...env, ...group.environment }
  if (group.isAlone) report(await runAlone(group, environment))
  else await runFolder(group, environment, report)
}
