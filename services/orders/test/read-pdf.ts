import { inflateSync } from 'node:zlib'

/**
 * Reads the lines of a PDF that pdfkit wrote, page by page from the top, each with its texts from the left, joined by a
 * blank.
 */
export const readPdf = (pdf: Buffer): string[] => {
  const objects = new Map(
    Array.from(pdf.toString('latin1').matchAll(/^(\d+) 0 obj\n(.*?)\nendobj$/gms), ([, id = '', body = '']) => [
      id,
      body,
    ]),
  )
  const follow = (body: string, name: string) => objects.get(body.match(`/${name} \\[?(\\d+) 0 R`)?.[1] ?? '') ?? ''
  const pages = [...objects.values()].filter(body => /\/Type \/Page$/m.test(body))
  return pages.flatMap(page => {
    const fonts = new Map(
      Array.from(follow(page, 'Resources').matchAll(/\/(F\d+) (\d+) 0 R/g), ([, name = '', id = '']) => [
        name,
        readLetters(inflate(follow(objects.get(id) ?? '', 'ToUnicode'))),
      ]),
    )
    return joinLines(readTexts(inflate(follow(page, 'Contents')), fonts))
  })
}

const inflate = (body: string): string => {
  const start = body.indexOf('stream\n') + 'stream\n'.length
  return inflateSync(Buffer.from(body.slice(start, body.lastIndexOf('\nendstream')), 'latin1')).toString('latin1')
}

/** Maps the glyphs of a font, in hexadecimal digits, to their letters. */
const readLetters = (map: string): Map<string, string> => {
  const ranges = map.matchAll(/<(\w{4})> <\w{4}> \[(.*?)\]/g)
  return new Map(
    [...ranges].flatMap(([, first = '', letters = '']) =>
      Array.from(letters.matchAll(/<([\w ]*)>/g), ([, code = ''], index): [string, string] => [
        (Number.parseInt(first, 16) + index).toString(16).padStart(4, '0'),
        Buffer.from(code.replaceAll(' ', ''), 'hex').swap16().toString('utf16le'),
      ]),
    ),
  )
}

interface Placed {
  readonly x: number
  readonly y: number
  readonly text: string
}

const readTexts = (content: string, fonts: Map<string, Map<string, string>>): Placed[] =>
  Array.from(
    content.matchAll(/1 0 0 1 ([-\d.]+) ([-\d.]+) Tm\n\/(F\d+) [\d.]+ Tf\n\[(.*?)\] TJ/g),
    ([, x, y, font = '', glyphs = '']) => ({
      ...{ x: Number(x), y: Number(y) },
      text: Array.from(glyphs.replace(/>[^<]*</g, '').matchAll(/\w{4}/g), ([glyph]) =>
        fonts.get(font)?.get(glyph),
      ).join(''),
    }),
  )

const joinLines = (texts: readonly Placed[]): string[] =>
  [...Map.groupBy(texts, ({ y }) => Math.round(y * 10))]
    .toSorted(([a], [b]) => b - a)
    .map(([, line]) =>
      line
        .toSorted((a, b) => a.x - b.x)
        .map(({ text }) => text)
        .join(' '),
    )
