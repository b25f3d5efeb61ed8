import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { UsageError } from './command-line.ts'

/**
 * Reads a secret from the environment variable, or else from the terminal, without showing it. An argument would be
 * readable by other users of the machine. Throws UsageError where neither is possible.
 */
export const readSecret = async (variable: string, what: string): Promise<string> => {
  const fromEnvironment = process.env[variable]
  if (fromEnvironment) return fromEnvironment
  if (!process.stdin.isTTY) throw new UsageError(`set ${variable} to the ${what}, or run this at a terminal`)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  // The prompt comes after this call, which turns the terminal's echo off, so that no keystroke is shown.
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  process.stderr.write(`${what}: `)
  // Ctrl-C and Ctrl-D close the prompt.
  const given = await Promise.race([once(lines, 'line').then(([line]) => line as string), once(lines, 'close')])
  lines.close()
  process.stderr.write('\n')
  if (typeof given !== 'string' || given === '') throw new UsageError(`no ${what} was given`)
  return given
}
