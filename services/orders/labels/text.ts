import { type Run, runsOf, type Weight } from './fonts.ts'

/** A PDF document of pdfkit, as far as texts need it. */
type Page = PDFKit.PDFDocument

export interface TextStyle {
  /** Points. */
  readonly size: number
  readonly weight?: Weight
  /** Longer texts end in an ellipsis. */
  readonly maxLines?: number
}

const lineHeight = 1.25

const widthOf = (page: Page, runs: readonly Run[], size: number): number =>
  runs.reduce((sum, { font, text }) => sum + page.font(font).fontSize(size).widthOfString(text), 0)

/** The lines of a text that are at most `width` points wide; a word that is wider is cut where it must be. */
const linesOf = (page: Page, text: string, width: number, { size, weight = 400 }: TextStyle): string[] => {
  const fits = (line: string): boolean => widthOf(page, runsOf(line, weight), size) <= width
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word
    if (fits(longer)) {
      line = longer
      continue
    }
    if (line) lines.push(line)
    line = ''
    for (const character of clusters.segment(word)) {
      if (line && !fits(line + character.segment)) {
        lines.push(line)
        line = ''
      }
      line += character.segment
    }
  }
  return line ? [...lines, line] : lines
}

const clusters = new Intl.Segmenter('si', { granularity: 'grapheme' })

const withEllipsis = (lines: readonly string[], max: number): string[] =>
  lines.length <= max ? [...lines] : [...lines.slice(0, max - 1), `${lines[max - 1]?.slice(0, -2)}…`]

/** Writes the text below `y` in a column of `width` points, and returns where the next one begins. */
export const write = (page: Page, text: string, x: number, y: number, width: number, style: TextStyle): number => {
  const { size, weight = 400, maxLines = 1 } = style
  const lines = withEllipsis(linesOf(page, text.slice(0, 500), width, style), maxLines)
  for (const [index, line] of lines.entries()) {
    let left = x
    for (const { font, text } of runsOf(line, weight)) {
      page.font(font).fontSize(size)
      // The fonts of the scripts have ascenders of their own; the baseline is common.
      page.text(text, left, y + (index + 1) * size * lineHeight - size * 0.3, {
        lineBreak: false,
        baseline: 'alphabetic',
      })
      left += page.widthOfString(text)
    }
  }
  return y + lines.length * size * lineHeight
}
