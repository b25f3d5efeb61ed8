import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

/** Stands for the end of the process. */
class Exit extends Error {
  readonly status: number

  constructor(status: number) {
    super(`exit ${status}`)
    this.status = status
  }
}

export interface Ran {
  /** Is null if a signal ended the process. */
  status: number | null
  stdout: string
  stderr: string
}

let runs = 0

/**
 * Runs a program, such as an operator's command, within this process, in a tenth of a new process' CPU time. Its
 * environment holds only these variables, and `input` is its standard input. One program runs at a time.
 */
export const runCommand = async (
  file: string,
  environment: Record<string, string>,
  words: readonly string[],
  input = '',
) => {
  const ran: Ran = { status: 0, stdout: '', stderr: '' }
  const collect = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      ran[name] += text
      return true
    },
  })
  const restore = replace({
    argv: [process.execPath, file, ...words],
    env: environment,
    exit: (status: number) => {
      throw new Exit(status)
    },
    stdin: Readable.from([input]),
    stdout: collect('stdout'),
    stderr: collect('stderr'),
  })
  const { exitCode } = process
  process.exitCode = undefined
  try {
    // A module with another address is evaluated again; what it imports is not.
    await import(`${pathToFileURL(file)}?run=${++runs}`)
    ran.status = Number(process.exitCode ?? 0)
  } catch (error) {
    ran.status = error instanceof Exit ? error.status : 1
    // Node prints the fields of an error, too.
    if (!(error instanceof Exit)) ran.stderr += inspect(error)
  } finally {
    process.exitCode = exitCode
    restore()
  }
  return ran
}

/** Gives the process other properties, until the returned function is called. */
const replace = (properties: Record<string, unknown>): (() => void) => {
  const define = (name: string, descriptor?: PropertyDescriptor) =>
    Object.defineProperty(process, name, { ...descriptor })
  const kept = Object.keys(properties).map(name => [name, Object.getOwnPropertyDescriptor(process, name)] as const)
  for (const [name, value] of Object.entries(properties)) define(name, { value, configurable: true, writable: true })
  return () => {
    for (const [name, descriptor] of kept) define(name, descriptor)
  }
}
