import { setImmediate as turn } from 'node:timers/promises'
import PDFDocument from 'pdfkit'
import { pageUrlOf } from '../orders/order-snapshot.ts'
import { drawLabel, labelHeight, labelWidth, mm } from './draw-label.ts'
import { drawRunSheet } from './draw-run-sheet.ts'
import { readFonts } from './fonts.ts'
import type { Label, Layout } from './label.ts'

/** What is to be printed. */
export type PrintJob =
  | {
      readonly kind: 'labels'
      readonly labels: readonly Label[]
      readonly layout: Layout
      readonly trackingUrl: string
    }
  | { readonly kind: 'run_sheet'; readonly labels: readonly Label[]; readonly title: string }

/** Draws a PDF and hands out its bytes as they come. Takes some milliseconds for each label, of the thread that it runs in. */
export const draw = async (job: PrintJob, onBytes: (bytes: Buffer) => void): Promise<void> => {
  const page = new PDFDocument({
    autoFirstPage: false,
    margin: 0,
    info: { Title: job.kind === 'labels' ? 'Labels' : job.title },
  })
  const ended = new Promise(resolve => page.on('end', resolve))
  page.on('data', onBytes)
  for (const [name, file] of fonts()) page.registerFont(name, file)
  if (job.kind === 'run_sheet') drawRunSheet(page, job.labels, job.title)
  else await drawLabels(page, job.labels, job.layout, job.trackingUrl)
  page.end()
  await ended
}

let read: ReturnType<typeof readFonts> | undefined
const fonts = () => {
  read ??= readFonts()
  return read
}

const drawLabels = async (page: PDFKit.PDFDocument, labels: readonly Label[], layout: Layout, trackingUrl: string) => {
  for (const [index, label] of labels.entries()) {
    const url = pageUrlOf(label, trackingUrl)
    if (layout === '100x150') {
      page.addPage({ size: [labelWidth, labelHeight], margin: 0 })
      drawLabel(page, label, url)
    } else drawQuarter(page, index, () => drawLabel(page, label, url))
    // What is drawn leaves meanwhile.
    if (index % 20 === 19) await turn()
  }
}

/** Four labels on a page: a quarter of A4 is 105 by 148.5 mm. */
const drawQuarter = (page: PDFKit.PDFDocument, index: number, drawOne: () => void): void => {
  if (index % 4 === 0) page.addPage({ size: 'A4', margin: 0 })
  const [column, row] = [index % 2, Math.floor((index % 4) / 2)]
  page.save()
  page.translate(mm(105 * column + 3), mm(148.5 * row)).scale(0.99)
  drawOne()
  page.restore()
}
