import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { chosenCapabilities } from '../../../dev/chosen-capabilities.ts'
import { runCommand } from '../../../dev/run-command.ts'
import { cloneDatabase, makeFolder } from '../../../dev/test-database.ts'
import { serviceToken } from './portal.ts'

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
  const notifier = (...words: string[]) => runCommand(admin, env, words)
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
  const { status, stdout, stderr } = await runCommand(admin, env, ['archive', ...words])
  if (status !== 0) throw new Error(stderr)
  return stdout
}
