// npm run -s bench -- bulk --connections 16 --json | node bench/picture.ts > docs/performance.svg
// Where the time of an order goes: a group of stacked bars per batch size, the bare statement's whole time being 100.
import { text } from 'node:stream/consumers'

type Row = Record<string, number | string>

const sides = [
  { name: 'bulk call', prefix: '' },
  { name: 'bare statement', prefix: 'statement ' },
  { name: 'COPY, orders alone', prefix: 'COPY ' },
]
const parts = [
  { name: 'Postgres', column: 'Postgres us', colour: '#4a6fa5' },
  { name: 'Node', column: 'Node us', colour: '#d98e48' },
]
const bar = { width: 46, gap: 8 }
const group = { width: 3 * bar.width + 2 * bar.gap + 50, height: 220 }
const top = 60
const left = 30

const asText = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const label = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x}" y="${y}" ${more}>${asText(words)}</text>`

/** Microseconds of CPU per order. */
const microseconds = (row: Row, prefix: string, column: string): number => Number(row[prefix + column] ?? 0)

const drawBar = (row: Row, prefix: string, x: number, scale: number): string => {
  let y = top + group.height
  const rectangles = parts.map(({ column, colour }) => {
    const height = microseconds(row, prefix, column) * scale
    y -= height
    return `<rect x="${x}" y="${y.toFixed(1)}" width="${bar.width}" height="${height.toFixed(1)}" fill="${colour}"/>`
  })
  const total = parts.reduce((sum, { column }) => sum + microseconds(row, prefix, column), 0)
  return rectangles.join('') + label(x + bar.width / 2, y - 4, `${total.toFixed(1)} us`, 'text-anchor="middle"')
}

const drawGroup = (row: Row, index: number): string => {
  const x = left + index * group.width
  const whole = parts.reduce((sum, { column }) => sum + microseconds(row, 'statement ', column), 0)
  const scale = (group.height * 0.5) / whole
  const bars = sides.map(({ prefix }, side) => drawBar(row, prefix, x + side * (bar.width + bar.gap), scale))
  const names = sides.map(({ name }, side) => {
    const place = x + side * (bar.width + bar.gap) + bar.width / 2
    return name
      .split(' ')
      .map((word, line) => label(place, top + group.height + 14 + 12 * line, word, 'text-anchor="middle"'))
      .join('')
  })
  const title = label(x, 44, `batch of ${row.batch}`, 'font-weight="bold"')
  return [title, ...bars, ...names].join('')
}

const { bulk } = JSON.parse(await text(process.stdin)) as { bulk: Row[] }
const rows = bulk.filter(({ key }) => key === 'off')
const legend = parts.map(
  ({ name, colour }, index) =>
    `<rect x="${left + index * 90}" y="10" width="12" height="12" fill="${colour}"/>${label(left + 18 + index * 90, 20, name)}`,
)
const size = `width="${Math.max(640, left + rows.length * group.width)}" height="${top + group.height + 60}"`
const title = 'CPU per order; heights by the bare statement of the same batch size'
const drawing = [...legend, label(left + 200, 20, title), ...rows.map(drawGroup)].join('')
process.stdout.write(
  `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11"><title>${title}</title><rect width="100%" height="100%" fill="white"/>${drawing}</svg>\n`,
)
