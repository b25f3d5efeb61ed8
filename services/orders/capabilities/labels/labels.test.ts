import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { makeExample } from '@courier/shared/api-docs/examples.ts'
import { fontCharacters, toPrintable } from '@courier/shared/printable.ts'
import PDFDocument from 'pdfkit'
import t, { type Test } from 'tap'
import { createTokenFor } from '../../core/access/token-commands.ts'
import { OrderView } from '../../core/tracking/order-schema.ts'
import { build } from '../../test/build.ts'
import { batch, order } from '../../test/tenant.ts'
import { draw } from './draw.ts'
import { drawLabel } from './draw-label.ts'
import { readFonts, splitRuns } from './fonts.ts'
import type { Label } from './label.ts'
import { Printer } from './printer.ts'
import { write } from './text.ts'
import { writeZpl } from './zpl.ts'

const { app, pool, token, bulk, createToken } = await build(t, { publicUrl: 'https://courier.example' })
const book = async (...orders: Record<string, unknown>[]): Promise<string[]> =>
  (await bulk(batch(orders.map(each => order(each))))).body.data

const ask = async (path: string, body?: object, as = token) => {
  const response = await app.inject({
    method: body ? 'POST' : 'GET',
    url: `/api${path}`,
    headers: { authorization: `Bearer ${as}`, 'x-tenant': 'demo', ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  })
  return { status: response.statusCode, type: response.headers['content-type'], bytes: response.rawPayload, response }
}
const ofMerchant = '/public/merchant/order'

const hasScanner = spawnSync('zbarimg', ['--version']).status === 0 && spawnSync('pdftoppm', ['-v']).status === 0

/** Reads the codes of each page of a PDF as a scanner would if it were printed at 203 dots per inch. */
const scan = (t: Test, pdf: Buffer): string[][] => {
  const folder = t.testdir({})
  const file = join(folder, 'labels.pdf')
  writeFileSync(file, pdf)
  t.equal(spawnSync('pdftoppm', ['-r', '203', '-gray', file, join(folder, 'page')]).status, 0)
  const pages = readdirSync(folder)
    .filter(name => name.startsWith('page'))
    .sort()
  return pages.map(page => {
    const read = spawnSync('zbarimg', ['-q', join(folder, page)], { encoding: 'utf8' }).stdout
    return read.trim().split('\n').sort()
  })
}

const countPages = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0

t.test('the label of an order is a PDF of one page, which only its merchant and staff get', async t => {
  const [waybill = ''] = await book({ customer_name: 'නිමාලි පෙරේරා' })
  const { status, type, bytes, response } = await ask(`${ofMerchant}/${waybill}/label`)
  t.strictSame([status, type], [200, 'application/pdf'])
  t.equal(response.headers['content-disposition'], 'inline; filename="labels.pdf"')
  t.equal(bytes.subarray(0, 5).toString(), '%PDF-')
  t.match(bytes.subarray(-6).toString(), '%%EOF')
  t.equal(countPages(bytes), 1)
  t.equal((await ask(`${ofMerchant}/${waybill}/label`, undefined, await createToken('books@example.com'))).status, 404)
  const staff = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  t.equal(countPages((await ask(`/staff/order/${waybill}/label`, undefined, staff)).bytes), 1)
  t.equal((await ask(`/staff/order/${waybill}/label`)).status, 401)
})

t.test(
  'a scanner reads the waybill and the link to its page at 203 dots per inch',
  { skip: !hasScanner && 'zbarimg or pdftoppm is missing' },
  async t => {
    const orders = [{ cod: 0 }, { customer_name: 'நிமாலி பெரேரா' }, {}, {}, {}]
    const waybills = await book(...orders)
    for (const layout of ['100x150', 'a4x4']) {
      const { bytes } = await ask(`${ofMerchant}/labels`, { waybill_numbers: waybills, layout })
      const read = scan(t, bytes)
      t.equal(read.length, layout === 'a4x4' ? 2 : 5)
      const expected = waybills.flatMap(waybill => [
        `CODE-128:${waybill}`,
        `QR-Code:https://courier.example/t/demo/${waybill}/CODE`,
      ])
      const codes = read.flat().map(code => code.replace(/[\w-]{11}$/, tail => (code.startsWith('QR') ? 'CODE' : tail)))
      t.strictSame(codes.sort(), expected.sort())
    }
  },
)

t.test('prints all labels or none, in the order of the requested numbers', async t => {
  const [first = '', second = ''] = await book({}, {})
  const { status, bytes } = await ask(`${ofMerchant}/labels`, { waybill_numbers: [` ${second} `, first, second] })
  t.equal(status, 200)
  t.equal(countPages(bytes), 3)
  const zpl = await ask(`${ofMerchant}/labels`, { waybill_numbers: [second, first], format: 'zpl' })
  t.equal(zpl.type, 'application/zpl; charset=utf-8')
  t.strictSame(
    [...zpl.bytes.toString().matchAll(/\^BCN.*\^FD(\w+)\^FS/g)].map(([, waybill]) => waybill),
    [second, first],
  )
  const wrong = await ask(`${ofMerchant}/labels`, { waybill_numbers: [first, 'DM99999999', 'no number'] })
  t.equal(wrong.status, 422)
  const unknown = await ask(`${ofMerchant}/labels`, { waybill_numbers: [first, 'DM99999999'] })
  t.strictSame(
    [unknown.status, unknown.response.json().errors],
    [422, { 'waybill_numbers.1': ['The requested waybill does not exist in the system.'] }],
  )
  for (const body of [
    {},
    { waybill_numbers: [] },
    { waybill_numbers: [first], layout: 'a5' },
    { waybill_numbers: [first], format: 'png' },
  ])
    t.equal((await ask(`${ofMerchant}/labels`, body)).status, 422, JSON.stringify(body))
  t.equal((await ask(`${ofMerchant}/${first}/label?format=png`)).status, 422)
})

t.test('a run sheet has 13 parcels on a page', async t => {
  const waybills = await book(...Array.from({ length: 14 }, () => ({})))
  const staff = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  const { status, type, bytes } = await ask(
    '/staff/order/run-sheet',
    { waybill_numbers: waybills, title: 'Van 7' },
    staff,
  )
  t.strictSame([status, type, countPages(bytes)], [200, 'application/pdf', 2])
  t.equal((await ask('/staff/order/run-sheet', { waybill_numbers: waybills })).status, 401)
})

const label: Label = {
  ...(makeExample(OrderView) as OrderView),
  company: 'Demo Couriers',
  url: 'https://courier.example/t/demo/DM00000001/q3x0cJ2mYb8',
  booked_on: '2026-02-19',
}

const toZpl = async (...labels: Label[]): Promise<string> => {
  let zpl = ''
  for await (const slice of writeZpl(labels)) zpl += slice
  return zpl
}

t.test('in ZPL a text cannot leave its field, and letters of any script are kept', async t => {
  const zpl = await toZpl({ ...label, customer_name: 'A^XZ~JA_5e\\&\n නිමාලි é', waybill_number: 'A>1^B' })
  t.match(zpl, '^FDA_5eXZ_7eJA_5f5e_5c&_0a නිමාලි é^FS')
  t.match(zpl, '^BCN,150,N,N,N,A^FH_^FDA>01_5eB^FS')
  t.strictSame(zpl.match(/\^X[AZ]/g), ['^XA', '^XZ'])
  t.match(await toZpl({ ...label, customer_address: `${'a'.repeat(332)}😀a` }), /aaa…\^FS/, 'no half of an emoji')
  t.match(
    await toZpl({ ...label, customer_address: `${'a'.repeat(332)}කො` }),
    /aaa…\^FS/,
    'no letter without its vowel',
  )
  t.match(await toZpl({ ...label, customer_address: 'a'.repeat(200) }), /\^A0N,24,24\^FB736,4,4,L\^FH_\^FDa{200}\^FS/)
})

t.test('500 labels in ZPL are written in 25 slices, and other requests run in between', async t => {
  let [slices, turns] = [0, 0]
  for await (const _ of writeZpl(Array(500).fill(label))) {
    slices += 1
    void turn().then(() => turns++)
  }
  t.strictSame([slices, turns], [25, 25])
})

t.test('fonts are unpacked: no table is inflated for each glyph', async t => {
  for (const [name, file] of readFonts()) t.equal(file.readUInt32BE(0), 0x00010000, name)
})

t.test('drawing stops once the client disconnects', async t => {
  for (const job of [
    { kind: 'labels', labels: Array(500).fill(label), layout: '100x150' } as const,
    { kind: 'run_sheet', labels: Array(500).fill(label), title: 'Van 7' } as const,
  ]) {
    let asked = 0
    const parts: Buffer[] = []
    await draw(
      job,
      bytes => parts.push(bytes),
      () => ++asked <= 40,
    )
    t.equal(asked, 41)
    t.notMatch(Buffer.concat(parts).toString('latin1'), '%%EOF')
  }
})

t.test('text uses a font of its script; joined letters and marks use the font of the letter before them', async t => {
  t.strictSame(
    splitRuns('12 ශ්‍රී, ஸ்ரீ Ž', 400).map(({ font, text }) => `${font} ${text}`),
    ['latin-400 12 ', 'sinhala-400 ශ්‍රී', 'latin-400 , ', 'tamil-400 ஸ்ரீ', 'latin-400  ', 'latin-ext-400 Ž'],
  )
})

/** Opens a document with the fonts of labels that keeps the texts written on it. */
const openPage = () => {
  const page = new PDFDocument({ margin: 0 })
  for (const [name, file] of readFonts()) page.registerFont(name, file)
  const drawn: { text: string; size: number }[] = []
  page.text = text => {
    const { _fontSize: size } = page as unknown as { _fontSize: number }
    drawn.push({ text, size })
    return page
  }
  return { page, drawn, read: () => drawn.map(({ text }) => text).join('') }
}

/** Lists the characters of a font of pdfkit, without its end markers. */
const listCharacters = (page: PDFKit.PDFDocument, name: string): number[] => {
  const { _font } = page.font(name) as unknown as { _font: { font: { characterSet: number[] } } }
  return _font.font.characterSet.filter(code => code !== 0 && code !== 0xd && code !== 0xffff)
}

t.test('the table of characters is that of the font files, and each of them has a font that holds it', async t => {
  const { page } = openPage()
  const all = new Map(readFonts().map(([name]) => [name as string, new Set(listCharacters(page, name))]))
  for (const [script, characters] of Object.entries(fontCharacters)) {
    const listed = new RegExp(`^[${characters}]$`, 'u')
    const isListed = (code: number): boolean => listed.test(String.fromCodePoint(code))
    for (const weight of [400, 700]) {
      const held = all.get(`${script}-${weight}`) ?? new Set()
      for (let code = 1; code < 0x20000; code++)
        if (isListed(code) && !held.has(code)) t.fail(`${script} lacks U+${code.toString(16)}`)
    }
  }
  for (const code of new Set([...all.values()].flatMap(held => [...held]))) {
    const [run] = splitRuns(toPrintable(` ${String.fromCodePoint(code)}`).slice(1), 700)
    if (!all.get(run?.font ?? '')?.has(code)) t.fail(`U+${code.toString(16)} is sent to ${run?.font}`)
  }
})

t.test('letters and currency signs that the fonts hold are printed', async t => {
  const { page, read } = openPage()
  const text = 'ıŒœ ₹ ₺ ₱ ₦ € ḍ ṣ Ž č ශ්‍රී ஸ்ரீ'
  write(page, text, 0, 0, 500, { size: 10 })
  t.equal(read(), text)
  for (const [letters, font] of [
    ['ıŒœ€', 'latin-400'],
    ['₹₺₱₦ḍ', 'latin-ext-400'],
  ] as const)
    t.strictSame(splitRuns(letters, 400), [{ font, text: letters }])
})

t.test('a character that no font holds is printed as its code point, or as simpler letters', async t => {
  for (const [text, printed] of [
    ['中 Ж', '[U+4E2D] [U+0416]'],
    ['a😀b', 'a[U+1F600]b'],
    ['Nguyễn ﬁ Ａ №', 'Nguyen fi A No'],
    ['a\u202ab\u200e\ufe0fc', 'abc'],
    ['क', '[U+0915]'],
  ] as const) {
    const { page, read } = openPage()
    write(page, text, 0, 0, 500, { size: 10 })
    t.equal(read(), printed)
  }
})

t.test('a long address uses the room of the label before it is cut', async t => {
  const print = (customer_address: string) => {
    const { page, drawn } = openPage()
    drawLabel(page, { ...label, customer_address })
    const [first, ...lines] = drawn.slice(drawn.findIndex(({ text }) => text.startsWith('No. 1')))
    const end = lines.findIndex(({ text }) => text.startsWith(label.customer_phone))
    return { size: first?.size, text: [first, ...lines.slice(0, end)].map(line => line?.text).join(' ') }
  }
  const words = (count: number) => `No. 1 ${Array.from({ length: count }, (_, n) => `Lane${n}`).join(' ')}`
  t.strictSame(print(words(3)), { size: 10, text: words(3) })
  t.strictSame(print(words(30)), { size: 9, text: words(30) })
  t.strictSame(print(words(45)), { size: 7, text: words(45) })
  t.match(print(words(120)), { size: 7, text: /^No\. 1 .*Lane5\d.*…$/ })
})

t.test('a response names the characters that its paper shows as code points', async t => {
  const [fine = '', odd = ''] = await book({}, { customer_name: 'Li 李', customer_address: '1 Main Street 😀' })
  const body = { waybill_numbers: [fine, odd] }
  const warned = { 'x-print-warnings': `${odd}: U+674E U+1F600` }
  t.match((await ask(`${ofMerchant}/labels`, body)).response.headers, warned)
  const staff = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  t.match((await ask('/staff/order/run-sheet', body, staff)).response.headers, warned)
  t.notOk('x-print-warnings' in (await ask(`${ofMerchant}/labels`, { waybill_numbers: [fine] })).response.headers)
  const zpl = await ask(`${ofMerchant}/labels`, { ...body, format: 'zpl' })
  t.notOk('x-print-warnings' in zpl.response.headers, "ZPL uses the printer's own fonts")
})

t.test('a text that does not fit ends with a whole letter and an ellipsis', async t => {
  for (const letter of ['x\u0323\u0301', 'කො', 'கொ'])
    for (const before of ['', 'a']) {
      const { page, read } = openPage()
      write(page, before + letter.repeat(60), 0, 0, 100, { size: 10 })
      t.match(read(), new RegExp(`^${before}(${letter})+…$`))
    }
})

const countBytes = async (pdf: Readable | undefined): Promise<number> => {
  let sum = 0
  for await (const part of pdf ?? []) sum += part.length
  return sum
}

t.test('refuses too many jobs; a job that fails or loses its reader delays no other', async t => {
  const printer = new Printer()
  t.teardown(() => printer.close())
  const job = { kind: 'labels', labels: [label], layout: '100x150' } as const
  const [gone, ...waiting] = Array.from({ length: 10 }, (_, n) => printer.print(`tenant ${n % 3}`, job))
  t.equal(printer.print('another', job), undefined)
  gone?.destroy()
  const sizes = await Promise.all(waiting.map(countBytes))
  t.ok(sizes.every(size => size > 1_000))
  // A name that is null makes drawing throw.
  const broken = printer.print('demo', { ...job, labels: [{ ...label, customer_name: null as never }] })
  const beside = printer.print('another', job)
  await t.rejects(countBytes(broken))
  t.ok((await countBytes(beside)) > 1_000)
  t.ok((await countBytes(printer.print('demo', job))) > 1_000)
  const [first, ...others] = Array.from({ length: 4 }, () => printer.print('demo', job))
  t.equal(printer.print('demo', job), undefined, 'one tenant leaves room for others')
  t.ok(printer.print('another', job)?.destroy())
  await Promise.all([first, ...others].map(countBytes))
})

t.test('tenants take turns: one label of a tenant does not wait for 500 of another', async t => {
  const printer = new Printer()
  t.teardown(() => printer.close())
  const print = async (tenant: string, labels: Label[]): Promise<number> => {
    await countBytes(printer.print(tenant, { kind: 'labels', labels, layout: '100x150' }))
    return ended.push(tenant)
  }
  const ended: string[] = []
  await Promise.all([print('large', Array(500).fill(label)), print('large', [label]), print('small', [label])])
  t.strictSame(ended, ['small', 'large', 'large'])
})

t.test('a thread that dies fails the jobs it draws, and the next job gets a new thread', async t => {
  const printer = new Printer()
  t.teardown(() => printer.close())
  const job = { kind: 'labels', labels: Array(500).fill(label), layout: '100x150' } as const
  const drawn = countBytes(printer.print('demo', job))
  await Promise.all([t.rejects(drawn), turn().then(() => printer.close())])
  t.ok((await countBytes(printer.print('demo', { ...job, labels: [label] }))) > 1_000)
})

t.test('a job that meets the ending idle thread is printed', async t => {
  const printer = new Printer(1)
  t.teardown(() => printer.close())
  const job = { kind: 'labels', labels: [label], layout: '100x150' } as const
  for (let n = 0; n < 8; n++) {
    t.ok((await countBytes(printer.print('demo', job))) > 1_000)
    // The thread needs some milliseconds to end.
    await delay(2 + n / 4)
  }
})

t.test('words as long as a field do not exhaust the memory of the thread', async t => {
  const printer = new Printer()
  t.teardown(() => printer.close())
  const long = Array.from({ length: 100 }, (_, n) => `SKU-${n}`).join(',')
  const labels = Array.from({ length: 100 }, (_, n) => ({
    ...label,
    customer_name: `${n}${'නි'.repeat(120)}`,
    customer_address: `${n}${long.slice(0, 480)}`,
    description: `${n}${long.slice(0, 480)}`,
  }))
  // If pdfkit kept every prefix of these words, the thread would run out of memory.
  t.ok((await countBytes(printer.print('demo', { kind: 'labels', labels, layout: 'a4x4' }))) > 10_000)
})

t.test('a path that cannot be a waybill number gets 404', async t => {
  for (const path of ['A%001', '%E0%A4%A1', 'A'.repeat(60)])
    for (const format of ['pdf', 'zpl'])
      t.equal((await ask(`${ofMerchant}/${path}/label?format=${format}`)).status, 404, path)
})

t.test('one request prints up to 500 labels, and no more', async t => {
  const waybills = await book(...Array.from({ length: 100 }, () => ({})))
  const numbers = Array.from({ length: 500 }, (_, n) => waybills[n % 100])
  const { status, bytes } = await ask(`${ofMerchant}/labels`, { waybill_numbers: numbers })
  t.strictSame([status, countPages(bytes)], [200, 500])
  t.equal((await ask(`${ofMerchant}/labels`, { waybill_numbers: [...numbers, waybills[0]] })).status, 422)
})
