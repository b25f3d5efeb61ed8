import JsBarcode from 'jsbarcode'
import { correction, generate } from 'lean-qr'
import { type Label, wordCod, wordFacts, wordPhones, wordPlace } from './label.ts'
import { drawRule, type Page, write, writeFitted } from './text.ts'

export const mm = (millimetres: number): number => (millimetres * 72) / 25.4

/** Is one dot at 203 dots per inch, in points. Codes are sharp when their modules are whole dots. */
const dot = 72 / 203

export const labelWidth = mm(100)
export const labelHeight = mm(150)
const margin = mm(4)
const width = labelWidth - 2 * margin
const qrWidth = mm(27)
const column = width - qrWidth - mm(3)

/** Draws a label, 100 by 150 mm, with its upper left corner at the origin. */
export const drawLabel = (page: Page, label: Label): void => {
  drawHead(page, label)
  drawLine(page, mm(42))
  drawRecipient(page, label)
  drawLine(page, mm(86))
  drawCod(page, label)
  drawLine(page, mm(104))
  drawContent(page, label)
  drawBars(page, label.waybill_number)
}

const drawLine = (page: Page, y: number): void => drawRule(page, margin, labelWidth - margin, y, 0.7)

const drawHead = (page: Page, label: Label): void => {
  let y = write(page, label.company, margin, mm(4), column, { size: 13, weight: 700, maxLines: 2 })
  y = write(page, label.booked_on, margin, y, column, { size: 8 }) + mm(2)
  y = write(page, 'From', margin, y, column, { size: 7 })
  y = write(page, label.merchant_business_name, margin, y, column, { size: 10, weight: 700, maxLines: 2 })
  write(page, wordPlace(label.origin_city_name, label.origin_state_name), margin, y, column, { size: 9, maxLines: 2 })
  drawQr(page, label.url, labelWidth - margin - qrWidth, mm(6))
}

const placeTop = mm(77)
const phoneHeight = mm(5)

const drawRecipient = (page: Page, label: Label): void => {
  let y = write(page, 'To', margin, mm(43), width, { size: 7 })
  y = write(page, label.customer_name, margin, y, width, { size: 14, weight: 700, maxLines: 2 })
  const height = placeTop - phoneHeight - y
  y = writeFitted(page, label.customer_address, { x: margin, y, width, height }, [10, 9, 8, 7])
  write(page, wordPhones(label), margin, y, width, { size: 11, weight: 700 })
  const place = wordPlace(label.destination_city_name, label.destination_state_name)
  write(page, place, margin, placeTop, width, { size: 17, weight: 700 })
}

const drawCod = (page: Page, label: Label): void => {
  const cod = wordCod(label)
  if (cod === undefined) return void write(page, 'PREPAID', margin, mm(90), width, { size: 22, weight: 700 })
  page.rect(margin, mm(88), width, mm(14)).fill('#000')
  page.fillColor('#fff')
  const size = cod.length > 18 ? 16 : 24
  write(page, cod, margin + mm(3), mm(95) - size * 0.66, width - mm(6), { size, weight: 700 })
  page.fillColor('#000')
}

const drawContent = (page: Page, label: Label): void => {
  const y = write(page, wordFacts(label), margin, mm(105), width, { size: 9, weight: 700 })
  write(page, label.description ?? '', margin, y, width, { size: 8, maxLines: 3 })
}

/** Returns the modules of a Code 128 from left to right, without quiet zones: true for dark. */
const encodeBars = (text: string): boolean[] => {
  const encoded: { encodings?: { data: string }[] } = {}
  JsBarcode(encoded, text, { format: 'CODE128' })
  return [...(encoded.encodings?.[0]?.data ?? '')].map(bit => bit === '1')
}

const drawBars = (page: Page, waybill: string): void => {
  const bars = encodeBars(waybill)
  const module = Math.max(1, Math.min(4, Math.floor(width / bars.length / dot))) * dot
  const left = (labelWidth - bars.length * module) / 2
  for (let start = 0; start < bars.length; start++) {
    if (!bars[start]) continue
    const first = start
    while (bars[start + 1]) start++
    page.rect(left + first * module, mm(120), (start + 1 - first) * module, mm(19))
  }
  page.fill('#000')
  write(page, waybill, margin, mm(140), width, { size: waybill.length > 25 ? 8 : 13, weight: 700, maxLines: 2 })
}

/** Draws a QR code that stays readable with 15 % of it damaged. */
const drawQr = (page: Page, text: string, left: number, top: number): void => {
  const code = generate(text, { minCorrectionLevel: correction.M })
  const { size } = code
  const module = Math.max(1, Math.floor(qrWidth / size / dot)) * dot
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) if (code.get(x, y)) page.rect(left + x * module, top + y * module, module, module)
  page.fill('#000')
}
