import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { inflateSync } from 'node:zlib'

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
  const count = woff.readUInt16BE(12)
  const head = Buffer.alloc(12 + 16 * count)
  // The three search hints that follow the number of tables stay 0: fontkit reads none of them.
  head.writeUInt32BE(woff.readUInt32BE(4))
  head.writeUInt16BE(count, 4)
  const parts = [head]
  let offset = head.length
  for (let table = 0; table < count; table++) {
    const entry = 44 + 20 * table
    const [start, packed, length] = [4, 8, 12].map(at => woff.readUInt32BE(entry + at)) as [number, number, number]
    const bytes = woff.subarray(start, start + packed)
    const padding = Buffer.alloc(-length & 3)
    woff.copy(head, 12 + 16 * table, entry, entry + 4)
    woff.copy(head, 16 + 16 * table, entry + 16, entry + 20)
    head.writeUInt32BE(offset, 20 + 16 * table)
    head.writeUInt32BE(length, 24 + 16 * table)
    parts.push(packed < length ? inflateSync(bytes) : bytes, padding)
    offset += length + padding.length
  }
  return Buffer.concat(parts)
}

const findScript = (character: string): Script => {
  const code = character.codePointAt(0) ?? 0
  if (code >= 0x0d80 && code <= 0x0dff) return 'sinhala'
  if (code >= 0x0b80 && code <= 0x0bff) return 'tamil'
  return code >= 0x0100 && code <= 0x024f ? 'latin-ext' : 'latin'
}

/** Returns true for joiners and marks: they belong to the letter before them, and are not shaped without it. */
const isJoined = (character: string): boolean => /^(\u200c|\u200d|\p{M})$/u.test(character)

interface Run {
  readonly font: FontName
  readonly text: string
}

/** Replaces letters that the fonts lack, such as Vietnamese ones, with letters without marks. */
const keepPrintable = (text: string): string =>
  text.normalize('NFC').replace(/[\u1e00-\u1eff]/g, letter => letter.normalize('NFD').charAt(0))

/** Splits a text into runs that one font can show. */
export const splitRuns = (text: string, weight: Weight): Run[] => {
  const runs: Run[] = []
  for (const character of keepPrintable(text)) {
    const last = runs.at(-1)
    const font: FontName = last && isJoined(character) ? last.font : `${findScript(character)}-${weight}`
    if (last?.font === font) runs[runs.length - 1] = { font, text: last.text + character }
    else runs.push({ font, text: character })
  }
  return runs
}
