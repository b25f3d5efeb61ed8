// This file is plain JavaScript for any Node: dev/running.mjs imports it before the packages are installed.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
export const folder = resolve(root, process.env.DATA_DIR?.trim() || '.data')

/** Reads the process id, and a line for each address. */
const readLock = () => {
  try {
    return readFileSync(join(folder, 'start.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

/** Checks the command: a crash leaves the file behind, and another process may have the process id by now. */
const isStart = pid =>
  Number(pid) > 0 && spawnSync('ps', ['-o', 'args=', '-p', pid], { encoding: 'utf8' }).stdout?.includes('dev/start.ts')

/**
 * Finds the `npm start` that runs on the data folder: its process, and a line for each address. Returns undefined
 * without one.
 */
export const findStart = () => {
  const [pid, ...addresses] = readLock()
  return isStart(pid) ? { pid, addresses } : undefined
}
