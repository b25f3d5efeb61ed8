import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import { startPostgres } from './postgres.ts'

/** A Postgres for this run alone, without fsync, gone after `stop`. ORDERS_DATABASE_URL in the environment wins. */
export const startTestPostgres = async (): Promise<{ url: string; stop: () => Promise<void> }> => {
  if (process.env.ORDERS_DATABASE_URL) return { url: process.env.ORDERS_DATABASE_URL, stop: async () => {} }
  const folder = await mkdtemp(join(tmpdir(), 'courier-test-'))
  await chmod(folder, 0o755)
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' }
  const postgres = await startPostgres({ folder, port: await freePort(), settings })
  return {
    url: postgres.url,
    stop: async () => {
      await postgres.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
