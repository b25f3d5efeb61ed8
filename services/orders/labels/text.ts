import { runsOf, type Weight } from './fonts.ts'

/** A PDF document of pdfkit, as far as texts need it. */
type Page = PDFKit.PDFDocument

interface TextStyle {
  /** The size in points. */
  readonly size: number
  readonly weight?: Weight
  /** Longer texts end in an ellipsis. */
  readonly maxLines?: number
}

const lineHeight = 1.25

const widthOf = (page: Page, text: string, { size, weight = 400 }: TextStyle): number =>
  runsOf(text, weight).reduce((sum, run) => sum + page.font(run.font).fontSize(size).widthOfString(run.text), 0)

/** Splits a text into lines of at most `width` points, at most one more than are shown. */
const linesOf = (page: Page, text: string, width: number, style: TextStyle): string[] => {
  const { maxLines = 1 } = style
  const space = widthOf(page, ' ', style)
  const lines: string[] = []
  let [line, filled] = ['', 0]
  for (const word of text.split(/\s+/).filter(Boolean))
    for (const [part, partWidth] of partsOf(page, word, width, style)) {
      if (lines.length > maxLines) return lines
      const isNext = line !== '' && filled + space + partWidth <= width
      if (line !== '' && !isNext) lines.push(line)
      line = isNext ? `${line} ${part}` : part
      filled = isNext ? filled + space + partWidth : partWidth
    }
  return line ? [...lines, line] : lines
}

/**
 * Measures the word, or the parts of one that is too wide for a line. Such a word is measured by its letters: given
 * the whole, pdfkit would keep each measured beginning as long as the document.
 */
const partsOf = (page: Page, word: string, width: number, style: TextStyle): [part: string, width: number][] => {
  if (word.length < maxWholeWord) {
    const whole = widthOf(page, word, style)
    if (whole <= width) return [[word, whole]]
  }
  const parts: [string, number][] = []
  let [part, filled] = ['', 0]
  for (const { segment } of clusters.segment(word)) {
    const letter = widthOf(page, segment, style)
    if (part && filled + letter > width) {
      parts.push([part, filled])
      ;[part, filled] = ['', 0]
    }
    part += segment
    filled += letter
  }
  return [...parts, [part, filled]]
}

/** The limit in UTF-16 units: no longer word fits on a line of a label. */
const maxWholeWord = 60

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
      // The fonts of the scripts have different ascenders; the baseline is common.
      page.text(text, left, y + (index + 1) * size * lineHeight - size * 0.3, {
        lineBreak: false,
        baseline: 'alphabetic',
      })
      left += page.widthOfString(text)
    }
  }
  return y + lines.length * size * lineHeight
}
