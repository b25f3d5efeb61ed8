import { crc32 } from 'node:zlib'

// Checks that bytes are the image that they say, and leaves out place, camera and other metadata. Pure.

export interface Image {
  readonly type: 'image/jpeg' | 'image/png' | 'image/webp'
  readonly bytes: Buffer
}

/** Returns an image without metadata; undefined: the bytes are no complete JPEG, PNG or WebP. */
export const stripImage = (given: Buffer): Image | undefined => {
  if (given.length < 16) return undefined
  if (given.readUInt16BE() === 0xffd8) return wrap('image/jpeg', stripJpeg(given))
  if (given.subarray(0, 8).equals(pngSignature)) return wrap('image/png', stripPng(given))
  const isWebp = given.toString('latin1', 0, 4) === 'RIFF' && given.toString('latin1', 8, 12) === 'WEBP'
  return isWebp ? wrap('image/webp', stripWebp(given)) : undefined
}

const wrap = (type: Image['type'], bytes: Buffer | undefined): Image | undefined => bytes && { type, bytes }

/** Returns true for APP0 to APP15 and comments. Adobe's short APP14 stays: colours depend on it. */
const isMetadata = (marker: number, content: Buffer): boolean => {
  if (marker === 0xee) return !(content.length <= 14 && content.toString('latin1', 0, 5) === 'Adobe')
  return (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe
}

const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const stripJpeg = (given: Buffer): Buffer | undefined => {
  const kept = [given.subarray(0, 2)]
  let [at, hasFrame, hasScan] = [2, false, false]
  while (at + 4 <= given.length || given[at + 1] === 0xd9) {
    if (given[at] !== 0xff) return undefined
    const marker = given[at + 1] ?? 0
    if (marker === 0xff) {
      at++
      continue
    }
    // Drops everything after the end, such as a film or a second picture.
    if (marker === 0xd9) return hasFrame && hasScan ? Buffer.concat([...kept, given.subarray(at, at + 2)]) : undefined
    if (at + 4 > given.length) return undefined
    const length = given.readUInt16BE(at + 2)
    const end = at + 2 + length
    if (length < 2 || end > given.length) return undefined
    if (!isMetadata(marker, given.subarray(at + 4, end))) kept.push(given.subarray(at, end))
    hasFrame ||= isFrame(marker)
    at = end
    if (marker !== 0xda) continue
    hasScan = true
    at = findScanEnd(given, end)
    kept.push(given.subarray(end, at))
  }
  return undefined
}

/** Finds the next marker after coded pixels; stuffed bytes and restarts belong to them. */
const findScanEnd = (given: Buffer, start: number): number => {
  let at = given.indexOf(0xff, start)
  while (at >= 0) {
    const next = given[at + 1] ?? 0
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7) && next !== 0xff) return at
    at = given.indexOf(0xff, at + (next === 0xff ? 1 : 2))
  }
  return given.length
}

const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex')
const pngChunks = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'bKGD'])

const stripPng = (given: Buffer): Buffer | undefined => {
  const kept = [given.subarray(0, 8)]
  const seen = new Set<string>()
  let at = 8
  while (at + 12 <= given.length) {
    const length = given.readUInt32BE(at)
    const end = at + 12 + length
    const name = given.toString('latin1', at + 4, at + 8)
    if (end > given.length || crc32(given.subarray(at + 4, end - 4)) !== given.readUInt32BE(end - 4)) return undefined
    if (seen.size === 0 && name !== 'IHDR') return undefined
    if (pngChunks.has(name)) kept.push(given.subarray(at, end))
    seen.add(name)
    if (name === 'IEND') return seen.has('IDAT') ? Buffer.concat(kept) : undefined
    at = end
  }
  return undefined
}

const webpChunks = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH'])
/** Are the flags of VP8X for a colour profile, EXIF, XMP and an animation. */
const webpFlags = 0x2e

const stripWebp = (given: Buffer): Buffer | undefined => {
  const kept: Buffer[] = []
  const seen = new Set<string>()
  const total = Math.min(given.length, 8 + given.readUInt32LE(4))
  let at = 12
  while (at + 8 <= total) {
    const name = given.toString('latin1', at, at + 4)
    const end = at + 8 + given.readUInt32LE(at + 4)
    if (end > total) return undefined
    const chunk = Buffer.from(given.subarray(at, end + (end & 1)))
    if (name === 'VP8X') chunk[8] = (chunk[8] ?? 0) & ~webpFlags
    if (webpChunks.has(name)) kept.push(chunk.length & 1 ? Buffer.concat([chunk, Buffer.alloc(1)]) : chunk)
    seen.add(name)
    at = end + (end & 1)
  }
  if (!seen.has('VP8 ') && !seen.has('VP8L')) return undefined
  const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1')
  head.writeUInt32LE(4 + kept.reduce((sum, { length }) => sum + length, 0), 4)
  return Buffer.concat([head, ...kept])
}
