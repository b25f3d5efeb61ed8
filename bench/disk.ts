import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

/** Throws when the disk of the benches' clusters has too little room; says how much is missing. */
export const requireFreeDisk = async (neededBytes: number): Promise<void> => {
  const { bavail, bsize } = await statfs(tmpdir())
  const free = bavail * bsize
  if (free >= neededBytes) return
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
  throw new Error(
    `${tmpdir()} has ${gigabytes(free)} free, ${gigabytes(neededBytes)} are needed: set TMPDIR to another disk, or fewer --million`,
  )
}
