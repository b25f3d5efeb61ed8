import { toPrintable } from '@courier/shared/printable.ts'
import { splitRuns, type Weight } from './fonts.ts'

export type Page = PDFKit.PDFDocument

interface TextStyle {
  /** Is the size in points. */
  readonly size: number
  readonly weight?: Weight
  /** Longer texts end in an ellipsis. */
  readonly maxLines?: number
}

const lineHeight = 1.25

export const measureWidth = (page: Page, text: string, { size, weight = 400 }: TextStyle): number =>
  splitRuns(text, weight).reduce((sum, run) => sum + page.font(run.font).fontSize(size).widthOfString(run.text), 0)

/** Splits a text into lines of at most `width` points. Stops soon after it has more lines than are shown. */
export const breakLines = (page: Page, text: string, width: number, style: TextStyle): string[] => {
  const { maxLines = 1 } = style
  const space = measureWidth(page, ' ', style)
  const lines: string[] = []
  let [line, filled] = ['', 0]
  for (const word of text
    .trim()
    .replace(/\s+/g, ' ')
    .split(/(?<= )/))
    for (const part of breakWord(page, word, width, style)) {
      if (lines.length > maxLines) return lines
      const partWidth = measureWidth(page, part.trimEnd(), style)
      if (line !== '' && filled + partWidth > width) {
        lines.push(line.trimEnd())
        ;[line, filled] = ['', 0]
      }
      line += part
      filled += partWidth + (part.endsWith(' ') ? space : 0)
    }
  return line === '' ? lines : [...lines, line.trimEnd()]
}

/**
 * Returns the word, or its letters if it is too wide for a line: given the whole word, pdfkit would keep every prefix
 * that it measures until the document ends.
 */
const breakWord = (page: Page, word: string, width: number, style: TextStyle): string[] =>
  word.length < maxWholeWord && measureWidth(page, word.trimEnd(), style) <= width
    ? [word]
    : Array.from(clusters.segment(word), ({ segment }) => segment)

/** Limits the words that are measured whole, in UTF-16 units: hardly any longer word fits on a line. */
const maxWholeWord = 60

const clusters = new Intl.Segmenter('si', { granularity: 'grapheme' })

/** Returns the letters that are whole within the first `length` UTF-16 units. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, clusters.segment(text).containing(length)?.index)

const addEllipsis = ([...lines]: readonly string[], max: number): string[] => {
  const last = lines[max - 1] ?? ''
  return lines.length <= max ? lines : [...lines.slice(0, max - 1), `${cut(last, last.length - 2)}…`]
}

/** Writes one line of text that ends at `right`. */
export const writeRight = (page: Page, text: string, right: number, y: number, style: TextStyle): number => {
  const width = measureWidth(page, toPrintable(text), style)
  return write(page, text, right - width, y, width + 1, style)
}

/** Limits a text, in UTF-16 units: hardly any longer text fits where it is written. */
const maxCharacters = 700

/**
 * Writes the text as `write` does, in the largest of `sizes` in which it fits into `height` points, or else in the last
 * one, cut to the room.
 */
export const writeFitted = (
  page: Page,
  text: string,
  box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  sizes: readonly number[],
): number => {
  const printable = toPrintable(cut(text, maxCharacters))
  const styles = sizes.map(size => ({ size, maxLines: Math.max(1, Math.floor(box.height / (size * lineHeight))) }))
  const fits = (style: TextStyle): boolean =>
    breakLines(page, printable, box.width, style).length <= (style.maxLines ?? 1)
  const style = styles.find(fits) ?? styles.at(-1)
  return style ? write(page, text, box.x, box.y, box.width, style) : box.y
}

/** Writes the text below `y` in a column of `width` points, and returns where the next text begins. */
export const write = (page: Page, text: string, x: number, y: number, width: number, style: TextStyle): number => {
  const { size, weight = 400, maxLines = 1 } = style
  const lines = addEllipsis(breakLines(page, toPrintable(cut(text, maxCharacters)), width, style), maxLines)
  for (const [index, line] of lines.entries()) {
    let left = x
    for (const { font, text } of splitRuns(line, weight)) {
      page.font(font).fontSize(size)
      // The fonts of the scripts have different ascenders but share the baseline.
      page.text(text, left, y + (index + 1) * size * lineHeight - size * 0.3, {
        lineBreak: false,
        baseline: 'alphabetic',
      })
      left += page.widthOfString(text)
    }
  }
  return y + lines.length * size * lineHeight
}

/** Draws a horizontal line. `thickness` is in points. */
export const drawRule = (page: Page, left: number, right: number, y: number, thickness = 0.5): void => {
  page.moveTo(left, y).lineTo(right, y).lineWidth(thickness).stroke('#000')
}
