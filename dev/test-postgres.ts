import { globSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from './ports.ts'
import { startPostgres } from './postgres.ts'

/**
 * Starts a Postgres for this run only, without fsync, and makes a folder for the run's files; `stop` removes both.
 * ORDERS_DATABASE_URL in the environment wins.
 */
export const startTestPostgres = async (): Promise<{ url: string; folder: string; stop: () => Promise<void> }> => {
  const whole = await mkdtemp(join(tmpdir(), 'courier-test-'))
  await chmod(whole, 0o755)
  const folder = join(whole, 'files')
  await mkdir(folder)
  const removeFolder = async (): Promise<void> => {
    endLeftovers(folder)
    await rm(whole, { recursive: true, force: true, maxRetries: 20 })
  }
  if (process.env.ORDERS_DATABASE_URL) return { url: process.env.ORDERS_DATABASE_URL, folder, stop: removeFolder }
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    // Copies a template in the kernel, in a fifth of the CPU time; Postgres for Windows does not know the setting.
    ...(process.platform !== 'win32' && { file_copy_method: 'clone' }),
  }
  const starting = startPostgres({ folder: whole, port: await findFreePort(), settings })
  const postgres = await starting.catch(async error => {
    await removeFolder()
    throw error
  })
  const stop = async (): Promise<void> => {
    endLeftovers(folder)
    await postgres.remove()
    await removeFolder()
  }
  return { url: postgres.url, folder, stop }
}

/** Stops the clusters that killed tests have left running below the folder. */
const endLeftovers = (folder: string): void => {
  for (const path of globSync('**/postmaster.pid', { cwd: folder }))
    try {
      process.kill(Number.parseInt(readFileSync(join(folder, path), 'utf8'), 10), 'SIGQUIT')
    } catch {
      // The process has ended in the meantime.
    }
}
