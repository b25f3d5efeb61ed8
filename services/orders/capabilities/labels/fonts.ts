import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { inflateSync } from 'node:zlib'
import { fontCharacters, isOldNumeral } from '@courier/shared/printable.ts'

const { resolve } = createRequire(import.meta.url)

const scripts = {
  latin: ['noto-sans', 'latin'],
  'latin-ext': ['noto-sans', 'latin-ext'],
  sinhala: ['noto-sans-sinhala', 'sinhala'],
  tamil: ['noto-sans-tamil', 'tamil'],
} as const
type Script = keyof typeof scripts

export type Weight = 400 | 700
/** Names a font in a document: `sinhala-700`. */
type FontName = `${Script}-${Weight}`

const weights: readonly Weight[] = [400, 700]

/** Reads all fonts, each with the name that texts use. */
export const readFonts = (): [FontName, Buffer][] =>
  (Object.keys(scripts) as Script[]).flatMap(script =>
    weights.map((weight): [FontName, Buffer] => {
      const [family, subset] = scripts[script]
      const path = resolve(`@fontsource/${family}/files/${family}-${subset}-${weight}-normal.woff`)
      return [`${script}-${weight}`, unpackWoff(readFileSync(path))]
    }),
  )

/**
 * Turns a WOFF file into the OpenType file that it was made from: with a WOFF file, fontkit would inflate a whole table
 * for each glyph. https://www.w3.org/TR/WOFF/#OverallStructure and
 * https://learn.microsoft.com/typography/opentype/spec/otff describe both formats.
 */
const unpackWoff = (woff: Buffer<ArrayBuffer>): Buffer => {
  const [headerBytes, entryBytes, wrappedHeaderBytes, wrappedEntryBytes] = [12, 16, 44, 20]
  const count = woff.readUInt16BE(12)
  const head = Buffer.alloc(headerBytes + entryBytes * count)
  // The three search hints that follow the number of tables stay 0: fontkit reads none of them.
  head.writeUInt32BE(woff.readUInt32BE(4))
  head.writeUInt16BE(count, 4)
  const parts = [head]
  let offset = head.length
  for (let table = 0; table < count; table++) {
    const entry = wrappedHeaderBytes + wrappedEntryBytes * table
    const own = headerBytes + entryBytes * table
    const [start, packed, length] = [4, 8, 12].map(at => woff.readUInt32BE(entry + at)) as [number, number, number]
    const bytes = woff.subarray(start, start + packed)
    const padding = Buffer.alloc(-length & 3)
    woff.copy(head, own, entry, entry + 4)
    woff.copy(head, own + 4, entry + 16, entry + 20)
    head.writeUInt32BE(offset, own + 8)
    head.writeUInt32BE(length, own + 12)
    parts.push(packed < length ? inflateSync(bytes) : bytes, padding)
    offset += length + padding.length
  }
  return Buffer.concat(parts)
}

const holds = Object.fromEntries(
  Object.entries(fontCharacters).map(([script, characters]) => [script, new RegExp(`^[${characters}]$`, 'u')]),
) as Record<Script, RegExp>

/** Joiners and marks belong to the letter before them, and are not shaped without it. */
const isJoined = (character: string): boolean => /^(\u200c|\u200d|\p{M})$/u.test(character)

const findScript = (character: string, last: Script | undefined): Script => {
  if (last && isJoined(character) && holds[last].test(character)) return last
  if (isOldNumeral(character)) return 'sinhala'
  return (Object.keys(scripts) as Script[]).find(script => holds[script].test(character)) ?? 'latin'
}

interface Run {
  readonly font: FontName
  readonly text: string
}

/** Splits a printable text into runs that one font can show. */
export const splitRuns = (text: string, weight: Weight): Run[] => {
  const runs: Run[] = []
  let last: Script | undefined
  for (const character of text) {
    const script = findScript(character, last)
    const run = runs.at(-1)
    if (run && script === last) runs[runs.length - 1] = { ...run, text: run.text + character }
    else runs.push({ font: `${script}-${weight}`, text: character })
    last = script
  }
  return runs
}
