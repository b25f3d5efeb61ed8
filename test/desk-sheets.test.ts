import { openAsBlob, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import t from 'tap'
import { root } from '../dev/settings.ts'

// The type check of portal/ covers these files.
const { decodeText, parseSheet, writeCsv } = await import(join(root, 'portal/desk/read-sheet.js'))
const { readMoney } = await import(join(root, 'portal/desk/upload/numbers.js'))
const { readWorkbook } = await import(join(root, 'portal/desk/upload/read-xlsx.js'))

interface Sheet {
  readonly rows: { number: number; cells: string[] }[]
}
const cellsOf = ({ rows }: Sheet): string[][] => rows.map(({ cells }) => cells)
const numbersOf = ({ rows }: Sheet): number[] => rows.map(({ number }) => number)
const readSheet = (name: string): Sheet => parseSheet(readFileSync(join(root, 'examples/sheets', name), 'utf8'))

t.test('reads quoted cells over two lines, and keeps the numbers of the rows where others are blank', t => {
  const template = cellsOf(readSheet('courier-template.csv'))
  t.equal(template.length, 4)
  t.strictSame(template[2]?.slice(2, 4), ['7 Lake Road\nKotte', 'Kotte'])
  t.equal(template[2]?.[8], 'Belt "brown"')
  t.strictSame(numbersOf(readSheet('sender-and-receiver.csv')), [1, 3, 4, 6])
  t.end()
})

t.test('finds the separator and the line ends that a file has', t => {
  const table: [string, string, string[][]][] = [
    [
      'CR only',
      'a,b\rc,d\r',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['sep=', 'sep=|\r\na|b,c\r\n', [['a', 'b,c']]],
    ['a byte order mark before sep=', '\uFEFFsep=;\na;b,c,d', [['a', 'b,c,d']]],
    [
      'semicolons below a title',
      'Orders, November\nName;City;COD\nA;B, C, D;1',
      [['Orders, November'], ['Name', 'City', 'COD'], ['A', 'B, C, D', '1']],
    ],
    [
      'tabs beside commas',
      'A\t1 Main Street, Upper floor, Galle, South',
      [['A', '1 Main Street, Upper floor, Galle, South']],
    ],
  ]
  for (const [name, text, cells] of table) t.strictSame(cellsOf(parseSheet(text)), cells, name)
  t.strictSame(numbersOf(parseSheet('sep=,\na\n\nb')), [1, 3], 'sep= is no row, as in Excel')
  t.end()
})

t.test('recognises UTF-8, UTF-16 and Windows-1252', t => {
  const bytes = (text: string, encoding: BufferEncoding) => new Uint8Array(Buffer.from(text, encoding)).buffer
  t.equal(decodeText(bytes('Nimalī,නිමාලි', 'utf8')), 'Nimalī,නිමාලි')
  t.equal(decodeText(bytes('\uFEFFNimalī\tGalle', 'utf16le')), 'Nimalī\tGalle')
  t.equal(decodeText(new Uint8Array([0x4a, 0x6f, 0x73, 0xe9, 0x20, 0x96, 0x20, 0x92]).buffer), 'José – ’')
  t.match(decodeText(new Uint8Array([...Buffer.from('නිමාලි'), 0xe0, 0xb6]).buffer), /^නිමාලි\uFFFD/, 'damaged UTF-8')
  t.equal(decodeText(new ArrayBuffer(0)), '')
  t.end()
})

t.test('writes rows that it can read again, without formulas', async t => {
  const rows = [
    ['a;b', 'says "no"\nand goes', '+94770000101'],
    ['=1+1', '', '-5'],
  ]
  t.strictSame(cellsOf(parseSheet(await writeCsv(rows).text())), [rows[0], ["'=1+1", '', '-5']])
})

t.test(
  'reads the first visible sheet of a workbook: texts, amounts, days, and phone numbers with the zeros of their format',
  async t => {
    const sheet = await readWorkbook(await openAsBlob(join(root, 'examples/sheets/courier-template.xlsx')), 10)
    t.strictSame(
      cellsOf(sheet)
        .slice(1)
        .map(row => row.join('|')),
      [
        'LS-3001|Nimali Perera|12 Temple Road, Galle|Galle|770000111||4500|1.2|One pair of shoes|2026-11-24',
        'LS-3002|Ruwan Silva|7 Lake Road\nKotte|Kotte|0770000112|110000102|0|0.5|Belt "brown" & black|Call first',
        'LS-3003|Chamari Fernando|3 Beach Road|Hikkaduwa|0770000113||Rs. 1250|1|Sandals|#N/A',
      ],
    )
    t.strictSame(numbersOf(sheet), [1, 2, 4, 5])
  },
)

/** Packs parts into a ZIP archive, as programs that write workbooks do. Leaves out checksums, which nothing reads. */
const pack = (parts: Record<string, string | Buffer>): Blob => {
  const [bodies, entries]: [Buffer[], Buffer[]] = [[], []]
  let at = 0
  for (const [name, content] of Object.entries(parts)) {
    const packed = deflateRawSync(content)
    const header = Buffer.alloc(30)
    header.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt16LE(8, 10)
    entry.writeUInt32LE(packed.length, 20)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(at, 42)
    bodies.push(header, Buffer.from(name), packed)
    entries.push(entry, Buffer.from(name))
    at += header.length + name.length + packed.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(parts).length, 10)
  end.writeUInt32LE(at, 16)
  return new Blob([...bodies, ...entries, end].map(part => new Uint8Array(part)))
}
const packWorkbook = (sheetXml: string | Buffer, more: Record<string, string> = {}): Blob =>
  pack({
    'xl/workbook.xml': `<workbook><sheets><sheet name='One' r:id='rId7'/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': '<Relationships><Relationship Id="rId7" Target="/xl/first.xml"/></Relationships>',
    'xl/first.xml': sheetXml,
    ...more,
  })

t.test(
  'reads workbooks from other programs: prefixed names, texts in cells, cells without a position, hidden rows',
  async t => {
    const xml = `<x:worksheet><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>A &amp; B&#x41;_x000A_C</x:t>
    <x:rPh><x:t>spoken</x:t></x:rPh></x:is></x:c><x:c><x:v>9.4770000101E10</x:v></x:c></x:row>
    <x:row r="9"><x:c r="AB9" t="str"><x:v>far</x:v></x:c></x:row>
    <x:row r="10"><x:c r="A10" s="1"/></x:row><x:row r="12" hidden="1"><x:c><x:v>7</x:v></x:c></x:row>\
</x:sheetData></x:worksheet>`
    const sheet = await readWorkbook(packWorkbook(xml), 10)
    t.strictSame(sheet.rows, [
      { number: 1, cells: ['A & BA\nC', '94770000101'] },
      { number: 9, cells: [...Array(27).fill(''), 'far'] },
      { number: 12, cells: ['7'], isHidden: true },
    ])
  },
)

t.test('counts the cells that are struck through, by their style or as a text', async t => {
  const xml = `<worksheet><sheetData><row r="1"><c s="1"><v>1</v></c><c s="2"><v>2</v></c><c s="1"/></row>
    <row r="2"><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s" s="1"><v>1</v></c></row></sheetData></worksheet>`
  const styles = `<styleSheet><fonts><font/><font><strike/></font><font><strike val="0"/></font></fonts>
    <cellXfs><xf fontId="0"/><xf fontId="1"/><xf fontId="2"/></cellXfs>
    <dxfs><dxf><font><strike/></font></dxf></dxfs></styleSheet>`
  const run = (text: string, more = '') => `<r>${more && `<rPr>${more}</rPr>`}<t>${text}</t></r>`
  const texts = `<sst><si>${run('all', '<strike/>')}</si><si>${run('part', '<strike/>')}${run(' of it')}</si></sst>`
  const sheet = await readWorkbook(packWorkbook(xml, { 'xl/styles.xml': styles, 'xl/sharedStrings.xml': texts }), 10)
  t.strictSame(sheet.rows, [
    { number: 1, cells: ['1', '2'], struck: 1 },
    { number: 2, cells: ['all', 'part of it', 'part of it'], struck: 2 },
  ])
})

t.test('shows errors and formulas without a value as what they are: no number reads them', async t => {
  const xml = `<worksheet><sheetData><row r="2"><c r="A2" t="e"><f>VLOOKUP(1,B:C,2)</f><v>#N/A</v></c>
    <c r="B2"><f>C2*2</f></c><c r="C2"><f t="shared" si="0"/></c><c r="D2"><f>1+1</f><v>2</v></c>
    <c r="E2" t="str"><f>""</f><v></v></c><c r="F2"><v>1.125</v></c></row></sheetData></worksheet>`
  const [cells] = cellsOf(await readWorkbook(packWorkbook(xml), 10))
  t.strictSame(cells, ['#N/A', '#UNCALCULATED', '#UNCALCULATED', '2', '', '1.1250'])
  t.strictSame(
    cells?.slice(0, 4).map(cell => readMoney(cell)),
    [{ problem: 'error_cell' }, { problem: 'error_cell' }, { problem: 'error_cell' }, { value: 2 }],
  )
})

t.test('refuses files that are not workbooks or unpack to too much, and reads no row beyond the limit', async t => {
  const row = '<row><c><v>1</v></c></row>'
  const table: [string, Blob, RegExp][] = [
    ['no archive', new Blob(['name,phone']), /unreadable/],
    ['an empty file', new Blob([]), /unreadable/],
    ['an archive of other things', pack({ 'word/document.xml': '<a/>' }), /unreadable/],
    ['an archive that is cut short', packWorkbook(row.repeat(50)).slice(0, 300), /unreadable/],
    ['a sheet of 64 MB in 64 kB', packWorkbook(Buffer.alloc(64_000_000, ' ')), /too_large/],
    ['a file above the limit', new Blob([new Uint8Array(10_000_001)]), /too_large/],
    ['more columns than orders have', packWorkbook('<row><c r="XFD1"><v>1</v></c></row>'), /too_large/],
  ]
  for (const [name, file, reason] of table) await t.rejects(readWorkbook(file, 10), { message: reason }, name)
  t.equal((await readWorkbook(packWorkbook(row.repeat(50)), 10)).rows.length, 10)
})
