import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './settings.ts'

const run = promisify(execFile)
const tokenPath = (dataFolder: string): string => join(dataFolder, 'demo-staff-token.json')

/** The operator's command line of the notifier, as JSON. */
const notifier = async (...words: string[]): Promise<unknown> => {
  const admin = join(root, 'services/notifier/admin.ts')
  return JSON.parse((await run(process.execPath, [admin, ...words, '--json'])).stdout)
}

/** Applies examples/demo-notifier.json once, and keeps one staff token in the data folder. Returns the token. */
export const loadDemoStaff = async (dataFolder: string): Promise<string> => {
  const kept = await readStaffToken(dataFolder)
  const tokens = (await notifier('token', 'list')) as { token_id: string; revoked_at: string | null }[]
  if (kept && tokens.some(({ token_id, revoked_at }) => token_id === kept.id && !revoked_at)) return kept.token
  await notifier('apply', join(root, 'examples/demo-notifier.json'))
  const created = await notifier('token', 'create', '--tenant', 'demo', '--staff', 'Demo portal')
  await writeFile(tokenPath(dataFolder), JSON.stringify(created), { mode: 0o600 })
  return (created as { token: string }).token
}

/** The staff token that `npm start` keeps for the demonstration; undefined before the first start. */
export const readStaffToken = async (dataFolder: string): Promise<{ id: string; token: string } | undefined> => {
  const text = await readFile(tokenPath(dataFolder), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}
