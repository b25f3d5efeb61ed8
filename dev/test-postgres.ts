import { globSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from './ports.ts'
import { startPostgres } from './postgres.ts'

/**
 * Makes a folder in memory where there is room, since a clone of a database has 500 files, which a disk's file system
 * creates in ten times the CPU time. Returns undefined where there is none, or where TMPDIR names another place.
 */
const makeFolderInMemory = async (): Promise<string | undefined> => {
  const memory = '/dev/shm'
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  const hasRoom = Math.min(bavail * bsize, process.availableMemory()) > 4 * 2 ** 30
  return process.env.TMPDIR || !hasRoom ? undefined : makeOpenFolder(memory)
}

/** Makes a folder that the user of Postgres may enter. */
const makeOpenFolder = async (parent: string): Promise<string> => {
  const folder = await mkdtemp(join(parent, 'courier-test-'))
  await chmod(folder, 0o755)
  return folder
}

/**
 * Starts a Postgres for this run only, without fsync, and makes a folder for the run's files; `stop` removes both.
 * ORDERS_DATABASE_URL in the environment wins.
 */
export const startTestPostgres = async (): Promise<{ url: string; folder: string; stop: () => Promise<void> }> => {
  const whole = await makeOpenFolder(tmpdir())
  const home = (await makeFolderInMemory()) ?? whole
  const folder = join(whole, 'files')
  await mkdir(folder)
  const removeFolder = async (): Promise<void> => {
    endLeftovers(folder)
    for (const each of [home, whole]) await rm(each, { recursive: true, force: true, maxRetries: 20 })
  }
  if (process.env.ORDERS_DATABASE_URL) return { url: process.env.ORDERS_DATABASE_URL, folder, stop: removeFolder }
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    // Saves a client a tenth of the CPU time of each connection.
    scram_iterations: '1',
    // Copies a template in the kernel, in a fifth of the CPU time; Postgres for Windows does not know the setting.
    ...(process.platform !== 'win32' && { file_copy_method: 'clone' }),
  }
  const starting = startPostgres({ folder: home, port: await findFreePort(), settings })
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
