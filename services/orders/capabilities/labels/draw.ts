import { setImmediate as turn } from 'node:timers/promises'
import PDFDocument from 'pdfkit'
import { drawInvoice, type InvoiceJob } from './draw-invoice.ts'
import { drawLabel, labelHeight, labelWidth, mm } from './draw-label.ts'
import { drawPaper, type PaperJob } from './draw-paper.ts'
import { drawRunSheet, type RunSheetJob } from './draw-run-sheet.ts'
import { readFonts } from './fonts.ts'
import type { Label, Layout } from './label.ts'
import type { Page } from './text.ts'

interface LabelJob {
  readonly kind: 'labels'
  readonly labels: readonly Label[]
  readonly layout: Layout
}

export type PrintJob = LabelJob | RunSheetJob | InvoiceJob | PaperJob

const fonts = readFonts()

/**
 * Describes a file. A document has the day of its issue instead of the time of its drawing: each drawing has the same
 * bytes.
 */
const describe = (job: PrintJob): { Title: string; CreationDate?: Date } => {
  if (job.kind === 'labels') return { Title: 'Labels' }
  if (job.kind === 'run_sheet') return { Title: job.title }
  if (job.kind === 'paper') return { Title: job.paper.number, CreationDate: new Date(job.paper.dated) }
  const { number: Title, issued_on } = job.document
  return issued_on ? { Title, CreationDate: new Date(issued_on) } : { Title }
}

/**
 * Draws a PDF and passes on its bytes as they come. Takes about a millisecond of thread time for each parcel, then lets
 * other work run. Stops without ending the PDF once `isWanted` returns false.
 */
export const draw = async (job: PrintJob, onBytes: (bytes: Buffer) => void, isWanted: () => boolean = () => true) => {
  const page = new PDFDocument({ autoFirstPage: false, margin: 0, info: describe(job) })
  const ended = new Promise(resolve => page.on('end', resolve))
  page.on('data', onBytes)
  for (const [name, file] of fonts) page.registerFont(name, file)
  for (const _ of drawSteps(page, job)) {
    await turn()
    if (!isWanted()) return
  }
  page.end()
  await ended
}

/** Draws in steps: other work may run after each `yield`. */
const drawSteps = (page: Page, job: PrintJob): Iterable<void> => {
  if (job.kind === 'invoice') return drawInvoice(page, job)
  if (job.kind === 'paper') return drawPaper(page, job)
  return job.kind === 'run_sheet' ? drawRunSheet(page, job) : drawLabels(page, job)
}

const drawLabels = function* (page: Page, { labels, layout }: LabelJob): Iterable<void> {
  for (const [index, label] of labels.entries()) {
    yield
    if (layout === 'a4x4') drawQuarter(page, index, label)
    else drawLabel(page.addPage({ size: [labelWidth, labelHeight], margin: 0 }), label)
  }
}

/** Draws one of four labels on a page: a quarter of A4 is 105 by 148.5 mm. */
const drawQuarter = (page: Page, index: number, label: Label): void => {
  if (index % 4 === 0) page.addPage({ size: 'A4', margin: 0 })
  const [column, row] = [index % 2, Math.floor((index % 4) / 2)]
  page.save()
  page.translate(mm(105 * column + 3), mm(148.5 * row)).scale(0.99)
  drawLabel(page, label)
  page.restore()
}
