import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { chosenCapabilities, cloneDatabase, makeFolder } from '../../../dev/test-database.ts'
import { serviceToken } from './portal.ts'

const run = promisify(execFile)
const admin = join(import.meta.dirname, '../admin.ts')

/** Prepares the operator's commands on a database of their own, and a function that saves a file for them. */
export const commands = async (t: Test, more: Record<string, string> = {}) => {
  const { url } = await cloneDatabase(t, 'notifier')
  const folder = makeFolder(t)
  const env = {
    NOTIFIER_DATABASE_URL: url,
    CREDENTIALS_KEYS: `test:${randomBytes(32).toString('base64')}`,
    DEMO_ACCESS_TOKEN: 'demo-access-token',
    DEMO_APP_SECRET: 'demo-app-secret',
    SERVICE_TOKEN: serviceToken,
    NOTIFIER_CAPABILITIES: chosenCapabilities,
    ...more,
  }
  const notifier = (...words: string[]): Promise<{ status: number; stdout: string; stderr: string }> =>
    run(process.execPath, [admin, ...words], { env, timeout: 60_000 }).then(
      ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ status: code, stdout, stderr }),
    )
  const save = (content: unknown): string => {
    const path = join(folder, 'notifier.json')
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  return { notifier, save, url }
}

/** Runs `archive` as the role that owns the tables; returns its output. */
export const archiveWith = async ({ url, ownerUrl }: { url: string; ownerUrl: string }, ...words: string[]) => {
  const env = { NOTIFIER_DATABASE_URL: url, NOTIFIER_MIGRATE_DATABASE_URL: ownerUrl }
  return (await run(process.execPath, [admin, 'archive', ...words], { env, timeout: 60_000 })).stdout
}
