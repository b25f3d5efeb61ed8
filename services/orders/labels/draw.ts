import { setImmediate as turn } from 'node:timers/promises'
import PDFDocument from 'pdfkit'
import { type InvoiceJob, lineDrawer } from './draw-invoice.ts'
import { drawLabel, labelHeight, labelWidth, mm } from './draw-label.ts'
import { type RunSheetJob, rowDrawer } from './draw-run-sheet.ts'
import { readFonts } from './fonts.ts'
import type { Label, Layout } from './label.ts'

interface LabelJob {
  readonly kind: 'labels'
  readonly labels: readonly Label[]
  readonly layout: Layout
}

export type PrintJob = LabelJob | RunSheetJob | InvoiceJob

const fonts = readFonts()

const chooseTitle = (job: PrintJob): string =>
  job.kind === 'labels' ? 'Labels' : job.kind === 'invoice' ? job.invoice.invoice_no : job.title

/**
 * Draws a PDF and hands out its bytes as they come. Takes about a millisecond of thread time for each parcel, then lets
 * other work run. Stops without ending the PDF once `isWanted` returns false.
 */
export const draw = async (job: PrintJob, onBytes: (bytes: Buffer) => void, isWanted: () => boolean = () => true) => {
  const page = new PDFDocument({ autoFirstPage: false, margin: 0, info: { Title: chooseTitle(job) } })
  const ended = new Promise(resolve => page.on('end', resolve))
  page.on('data', onBytes)
  for (const [name, file] of fonts) page.registerFont(name, file)
  for (const drawOne of steps(page, job)) {
    await turn()
    if (!isWanted()) return
    drawOne()
  }
  page.end()
  await ended
}

/** Lists the steps that draw a job, each in a turn of its own. */
const steps = (page: PDFKit.PDFDocument, job: PrintJob): (() => void)[] => {
  if (job.kind === 'invoice') {
    const drawOne = lineDrawer(page, job)
    return job.invoice.lines.map((line, index) => () => drawOne(line, index))
  }
  const drawOne = job.kind === 'run_sheet' ? rowDrawer(page, job) : labelDrawer(page, job)
  return job.labels.map((label, index) => () => drawOne(label, index))
}

const labelDrawer =
  (page: PDFKit.PDFDocument, { layout }: LabelJob) =>
  (label: Label, index: number): void => {
    if (layout === 'a4x4') return drawQuarter(page, index, () => drawLabel(page, label))
    page.addPage({ size: [labelWidth, labelHeight], margin: 0 })
    drawLabel(page, label)
  }

/** Draws one of four labels on a page: a quarter of A4 is 105 by 148.5 mm. */
const drawQuarter = (page: PDFKit.PDFDocument, index: number, drawOne: () => void): void => {
  if (index % 4 === 0) page.addPage({ size: 'A4', margin: 0 })
  const [column, row] = [index % 2, Math.floor((index % 4) / 2)]
  page.save()
  page.translate(mm(105 * column + 3), mm(148.5 * row)).scale(0.99)
  drawOne()
  page.restore()
}
