import { crc32 } from 'node:zlib'
import t from 'tap'
import { makeJpeg } from '../../test/riders-fixture.ts'
import { stripImage } from './images.ts'

const gps = Buffer.from('GPS 6.0535 N 80.2210 E')

const chunkPng = (name: string, content: Buffer) => {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  const body = Buffer.concat([Buffer.from(name), content])
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
const signature = Buffer.from('89504e470d0a1a0a', 'hex')
const header = chunkPng('IHDR', Buffer.from('00000001000000010806000000', 'hex'))
const pixels = chunkPng('IDAT', Buffer.from([1, 2, 3]))
const end = chunkPng('IEND', Buffer.alloc(0))
const png = Buffer.concat([signature, header, pixels, end])

const chunkWebp = (name: string, content: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(content.length)
  return Buffer.concat([Buffer.from(name), length, content, Buffer.alloc(content.length & 1)])
}
const wrapWebp = (...chunks: Buffer[]) => {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(4 + Buffer.concat(chunks).length)
  return Buffer.concat([Buffer.from('RIFF'), length, Buffer.from('WEBP'), ...chunks])
}
const picture = chunkWebp('VP8 ', Buffer.from([9, 9, 9]))
/** Makes the chunk that says what else a WebP holds. */
const describeWebp = (flags: number) => chunkWebp('VP8X', Buffer.from([flags, 0, 0, 0, 0, 0, 0, 0, 0, 0]))

t.test('a PNG keeps its picture, without texts, EXIF and what follows its end', async t => {
  const texts = ['tEXt', 'iTXt', 'zTXt', 'eXIf', 'iCCP', 'prVt'].map(name => chunkPng(name, gps))
  const given = Buffer.concat([signature, header, ...texts, pixels, end, gps])
  t.strictSame(stripImage(given), { type: 'image/png', bytes: png })
  t.strictSame(stripImage(png)?.bytes, png)
})

t.test('a WebP keeps its picture, without EXIF, XMP and profile, and no longer says that it has them', async t => {
  const given = wrapWebp(
    describeWebp(0x3e),
    chunkWebp('ICCP', gps),
    picture,
    chunkWebp('EXIF', gps),
    chunkWebp('XMP ', gps),
  )
  const bytes = wrapWebp(describeWebp(0x10), picture)
  t.strictSame(stripImage(Buffer.concat([given, gps])), { type: 'image/webp', bytes })
  t.strictSame(stripImage(bytes)?.bytes, bytes)
})

t.test('an image that was cut or changed is none, wherever', async t => {
  const changed = Buffer.from(png)
  changed[20] = 7
  t.equal(stripImage(changed), undefined, 'a sum is wrong')
  t.equal(stripImage(Buffer.concat([signature, header, end])), undefined, 'a PNG without pixels')
  t.equal(stripImage(wrapWebp(describeWebp(0))), undefined, 'a WebP without a picture')
  const webp = wrapWebp(describeWebp(0), picture)
  for (const image of [png, webp, makeJpeg('')])
    for (let length = 0; length < image.length - 1; length++)
      t.equal(stripImage(image.subarray(0, length)), undefined, `the first ${length} bytes`)
})
