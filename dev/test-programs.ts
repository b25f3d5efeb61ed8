import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Waits for the file that TEST_PROGRAMS names, which holds the exit status of what installs programs for tests
 * meanwhile (see .ci/run). Resolves at once without the variable; fails if that failed, or took 20 minutes.
 */
export const awaitPrograms = async (): Promise<void> => {
  const path = process.env.TEST_PROGRAMS
  delete process.env.TEST_PROGRAMS
  for (const end = performance.now() + 20 * 60_000; path && performance.now() < end; await delay(500)) {
    const status = readStatus(path)
    if (status === '0') return
    if (status !== '') throw new Error(`the programs for tests could not be installed: status ${status}`)
  }
  if (path) throw new Error('the programs for tests were not installed within 20 minutes')
}

const readStatus = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
