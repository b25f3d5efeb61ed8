import { mkdir, rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'

/** Creates the folder. Throws an Error that names DATA_DIR, the reason and the remedy when it is not writable. */
export const prepareDataFolder = async (folder: string): Promise<void> => {
  const probe = join(folder, `probe-${process.pid}`)
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(probe, '')
    await rm(probe)
  } catch (error) {
    const reason = explain((error as NodeJS.ErrnoException).code)
    throw new Error(`DATA_DIR ${folder} ${reason}. Set DATA_DIR to a folder that you can write to, or leave it out.`)
  }
}

const explain = (code: string | undefined): string => {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'is, or is below, a file'
  if (code === 'EACCES' || code === 'EPERM') return `is not writable for ${userInfo().username}`
  return `cannot be written to (${code})`
}
