import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './command-line.ts'

/**
 * A secret from the environment variable, else typed at the terminal without being shown: other users of the machine can
 * read the words of a command. Throws UsageError where neither is possible.
 */
export const readSecret = async (variable: string, what: string): Promise<string> => {
  const given = process.env[variable]
  if (given) return given
  if (!process.stdin.isTTY) throw new UsageError(`set ${variable} to the ${what}, or run this at a terminal`)
  process.stderr.write(`${what}: `)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    return await lines.question('')
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
