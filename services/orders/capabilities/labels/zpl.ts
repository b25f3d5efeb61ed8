import { setImmediate as turn } from 'node:timers/promises'
import { type Label, wordCod, wordFacts, wordPhones, wordPlace } from './label.ts'
import { cut } from './text.ts'

/**
 * Writes control characters, and those that would end a field or begin a command, in hexadecimal. ^CI28 says that the
 * rest is UTF-8.
 */
const escapeText = (text: string): string =>
  text.replace(/[\p{Cc}^~_\\]/gu, character =>
    [...Buffer.from(character)].map(byte => `_${byte.toString(16).padStart(2, '0')}`).join(''),
  )

/** Writes a text of at most `lines` lines. Positions and sizes are in dots, 203 to the inch. */
const writeText = (x: number, y: number, height: number, width: number, lines: number, value: string): string =>
  `^FO${x},${y}^A0N,${height},${height}^FB${width},${lines},4,L^FH_^FD${escapeText(cut(value, 400))}^FS`

/** Lists the heights of an address in dots, with the lines that fit. */
const addressSizes = [
  [32, 3],
  [24, 4],
  [20, 5],
] as const

/** Writes an address in the largest size in which it should fit, at 0.55 of the height for a letter; else cuts it. */
const writeAddress = (address: string): string => {
  const count = ([height, lines]: (typeof addressSizes)[number]): number => lines * Math.floor(736 / (height * 0.55))
  const size = addressSizes.find(each => address.length <= count(each)) ?? addressSizes[2]
  const most = count(size)
  const text = address.length <= most ? address : `${cut(address, most - 1)}…`
  return writeText(32, 452, size[0], 736, size[1], text)
}

const writeLine = (y: number): string => `^FO32,${y}^GB736,2,2^FS`

/** Writes a label, 100 by 150 mm. */
const writeLabel = (label: Label): string => {
  const cod = wordCod(label)
  return [
    '^XA^CI28^PW799^LL1199^LH0,0',
    writeText(32, 32, 40, 480, 2, label.company),
    writeText(32, 120, 24, 480, 1, label.booked_on),
    writeText(32, 156, 32, 480, 2, label.merchant_business_name),
    writeText(32, 230, 28, 480, 2, wordPlace(label.origin_city_name, label.origin_state_name)),
    `^FO540,32^BQN,2,${label.url.length > 60 ? 5 : 6}^FH_^FDMA,${escapeText(label.url)}^FS`,
    writeLine(336),
    writeText(32, 350, 46, 736, 2, label.customer_name),
    writeAddress(label.customer_address),
    writeText(32, 566, 36, 736, 1, wordPhones(label)),
    writeText(32, 616, 54, 736, 1, wordPlace(label.destination_city_name, label.destination_state_name)),
    writeLine(686),
    writeText(32, 712, 76, 736, 1, cod ?? 'PREPAID'),
    writeLine(830),
    writeText(32, 842, 28, 736, 1, wordFacts(label)),
    writeText(32, 878, 26, 736, 2, label.description ?? ''),
    `^FO32,952^BY${chooseDots(label.waybill_number)}^BCN,150,N,N,N,A^FH_^FD${escapeText(label.waybill_number.replaceAll('>', '>0'))}^FS`,
    writeText(32, 1116, 44, 736, 1, label.waybill_number),
    '^XZ',
  ].join('\n')
}

/**
 * Returns a module width that scans well and fits the label. A character takes 11 modules, and 35 modules surround the
 * text.
 */
const chooseDots = (waybill: string): number => Math.max(1, Math.min(4, Math.floor(736 / (11 * waybill.length + 35))))

const labelsPerSlice = 20

/**
 * Writes labels in ZPL II for a thermal printer with 203 dots per inch. Writes 20 at a time (about a millisecond), and
 * lets other requests run in between.
 */
export const writeZpl = async function* (labels: readonly Label[]): AsyncGenerator<string> {
  for (let start = 0; start < labels.length; start += labelsPerSlice) {
    const slice = labels.slice(start, start + labelsPerSlice)
    yield slice.map(label => `${writeLabel(label)}\n`).join('')
    await turn()
  }
}
