import { readFileSync } from 'node:fs'
import t from 'tap'
import { startTwo } from '../test/two-documents.ts'

t.test('a merchant with more charges than COD gets its tax invoice; the rest is set off later', async t => {
  const { deliver, make, post, refused, read, pay, today, get, giveBack } = await startTwo(t)
  await deliver(0, 0)
  const [first, none] = await make()
  t.match(first, { document: 'tax_invoice', total: 0, charges_due: 531 })
  t.equal(none, undefined, 'there is nothing to remit')
  t.match(await read(first.id), { invoice_no: null, taxable: 450, tax: 81, state: 'draft' })
  const issued = await post(`/invoice/${first.id}/submit`)
  t.match(issued, { invoice_no: `CFX-${today.slice(2, 7)}-00001`, invoice_ref_no: issued.invoice_no })

  await deliver(0, 600)
  const [second, remittance] = await make()
  t.match(
    [second, remittance],
    [
      { document: 'tax_invoice', charges_due: 554.6 },
      { document: 'remittance', total: 0 },
    ],
  )
  t.match(await read(remittance.id), { set_off: 588, total: 0, lines: [{ collected: 600, delivery: 0, net: 588 }] })
  t.strictSame(await refused(`/invoice/${remittance.id}/submit`), {
    invoice_no: [`It sets the draft ${second.id} off: submit that first.`],
  })
  await post(`/invoice/${second.id}/submit`)
  const { invoice_no: no } = await post(`/invoice/${remittance.id}/submit`)
  t.match(no, /^RM-/)
  t.match(await refused(`/invoice/${issued.invoice_no}/cancel`, { reason: 'x' }), {
    invoice_no: [`${no} sets it off or corrects it, or has its parcels: cancel that first.`],
  })
  t.match(await post(`/invoice/${no}/approve`), { state: 'deposited' }, 'nothing is left to pay')
  t.match(await read(first.id), { state: 'deposited', charges_left: 0 })
  t.match(await read(second.id), { state: 'submitted', charges_left: 497.6 })
  t.match((await get('/balance')).body.data, { balance: -497.6 })

  await deliver(0, 3000)
  await giveBack(0)
  const [third, paid] = await make()
  t.match(third, { document: 'tax_invoice', charges_due: 743.4 })
  t.match(paid, { document: 'remittance', total: 2940 - 497.6 - 743.4 })
  for (const { id } of [third, paid]) {
    await post(`/invoice/${id}/submit`)
    await post(`/invoice/${id}/approve`)
  }
  t.equal((await pay([paid.id], 'P1', today)).status, 200)
  for (const { id } of [second, third, paid]) t.match(await read(id), { state: 'deposited', charges_left: 0 })
  t.match((await get('/balance')).body.data, { balance: 0 })

  const page = readFileSync(new URL('../../../../../docs/money.md', import.meta.url), 'utf8')
  const section = page.split('\n### Two documents\n')[1]?.split('\n### ')[0] ?? ''
  const totals = [...section.matchAll(/^\| \d \|.*\| ([\d,.]+) \|$/gm)].map(([, total = '']) =>
    Number(total.replaceAll(',', '')),
  )
  const documents = await Promise.all([first, second, remittance, third, paid].map(({ id }) => read(id)))
  t.strictSame(
    totals,
    documents.map(({ total, charges_due }) => total + charges_due),
    'docs/money.md has this day',
  )
})

t.test('a merchant that pays its charges itself gets its COD whole; the balance shows both', async t => {
  const { deliver, make, post, read, pay, today, get, refused } = await startTwo(t, { apart: [0] })
  await deliver(0, 1000)
  t.match((await get('/balance')).body.data, { charges_due: 554.6, balance: 425.4, payable_now: 980 })
  const [invoice, remittance] = await make()
  t.match([invoice, remittance], [{ charges_due: 554.6 }, { total: 980 }])
  for (const { id } of [invoice, remittance]) {
    await post(`/invoice/${id}/submit`)
    await post(`/invoice/${id}/approve`)
  }
  t.match((await get('/balance')).body.data, { charges_due: 554.6, balance: 425.4, waiting: 980 })
  await post(`/invoice/${invoice.id}/charges`, { bank_reference: 'C1' })
  t.match(await read(invoice.id), { state: 'deposited', charges_left: 0 }, 'a paid invoice is paid')
  t.match(await refused(`/invoice/${invoice.id}/charges`, { bank_reference: 'C2' }), { bank_reference: [/C1/] })
  t.equal((await pay([remittance.id], 'P1', today)).status, 200)
  t.match((await get('/balance')).body.data, { charges_due: 0, balance: 0 })
})

t.test('a merchant that is exempt or zero-rated pays no tax on charges from then on', async t => {
  const { deliver, giveBack, make, post, read, readSchedule, readFacts, rows } = await startTwo(t)
  const { shop } = await readFacts()
  const setTaxStatus = (to: string) => rows('update merchants set tax_status = $1 where merchant_id = $2', [to, shop])
  await deliver(0, 1000)
  await setTaxStatus('exempt')
  await deliver(0, 1000)
  await setTaxStatus('zero_rated')
  await giveBack(0)
  const [invoice] = await make()
  t.match(await read(invoice.id), {
    ...{ taxable: 470 + 470 + 150, tax: 84.6 },
    lines: [
      { tax: 84.6, tax_percent: 18 },
      { tax: 0, tax_percent: 0 },
      { tax: 0, tax_percent: 0 },
    ],
  })
  t.strictSame((await readSchedule()).data.documents, [], 'a draft is not issued')
  await post(`/invoice/${invoice.id}/submit`)
  t.match((await readSchedule()).data.documents, [
    { tax_percent: 0, taxable: 470 + 150, tax: 0, total: 620, merchant_tax_status: 'zero_rated' },
    { tax_percent: 18, taxable: 470, tax: 84.6, total: 554.6 },
  ])
})

t.test('a dispute changes the remittance alone; a cancelled tax invoice has a credit note of its charges', async t => {
  const { deliver, make, post, read, readSchedule, request, today } = await startTwo(t)
  const waybill = await deliver(0, 1000)
  await deliver(0, 1000)
  const [invoice, remittance] = await make()
  const { invoice_no: taxNo } = await post(`/invoice/${invoice.id}/submit`)
  const { invoice_no: no } = await post(`/invoice/${remittance.id}/submit`)
  const dispute = { waybill_numbers: [waybill], reason: 'Open' }
  t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, dispute)).status, 200)
  t.match(await read(no), { total: -129.2, versions: [{}, { kind: 'disputed', credit_note_no: null }] })
  t.match(await read(taxNo), { charges_due: 1109.2, version: 1, versions: [{}] })
  await post(`/invoice/${no}/dispute/settle`, { waybill_numbers: [waybill], reason: 'Right' })
  t.match(await read(no), { total: 850.8, state: 'submitted' })
  await post(`/invoice/${no}/cancel`, { reason: 'Wrong day' })
  const { versions } = await post(`/invoice/${taxNo}/cancel`, { reason: 'Wrong address' }).then(() => read(taxNo))
  t.match(versions.at(-1), { kind: 'cancelled', charges_due: 1109.2, credit_note_no: /^CN-.*-00001$/ })
  const [again] = await make()
  t.match(again, { document: 'tax_invoice', charges_due: 1109.2 }, 'its parcels are free')
  const next = taxNo.replace('00001', '00002')
  t.match(await post(`/invoice/${again.id}/submit`), { invoice_no: next })
  const amounts = { tax_percent: 18, taxable: 940, tax: 169.2, total: 1109.2 }
  const noted = versions.at(-1).credit_note_no
  const documents = [
    { number: taxNo, kind: 'tax_invoice', corrects: null, issued_on: today, merchant_tax_number: 'TIN 0', ...amounts },
    { number: next, kind: 'tax_invoice', corrects: null, ...amounts },
    { number: noted, kind: 'credit_note', corrects: taxNo, taxable: -940, tax: -169.2, total: -1109.2 },
  ]
  t.match((await readSchedule()).data, { totals: { taxable: 940, tax: 169.2, total: 1109.2 }, documents })
  const pages = []
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = await readSchedule(`&limit=1${cursor}`)
    pages.push(...data.documents)
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
  t.match(pages, documents, 'page by page')
})

t.test('what changes charges after the issue is a credit note', async t => {
  const { deliver, make, post, read, readSchedule, second } = await startTwo(t)
  const waybill = await deliver(0, 4000)
  const [invoice, remittance] = await make()
  for (const { id } of [invoice, remittance]) await post(`/invoice/${id}/submit`)
  const body = { kind: 'collection', waybill_number: waybill, amount: -1000, reason: '3,000 were paid' }
  const { correction_id: id } = await post('/ledger/correction', body)
  await post(`/ledger/correction/${id}/approve`, {}, second)
  await deliver(0, 5000)
  const made = await make()
  t.match(made, [
    { document: 'credit_note', charges_due: -11.8 },
    { document: 'tax_invoice', charges_due: 590 },
    { document: 'remittance', total: 4900 - 980 - 590 + 11.8 },
  ])
  for (const each of made) await post(`/invoice/${each.id}/submit`)
  const note = await read(made[0].id)
  t.match(note, { invoice_no: /^CN-/, corrects: (await read(invoice.id)).invoice_no, taxable: -10, tax: -1.8 })
  t.match((await readSchedule()).data, {
    totals: { taxable: 490 - 10 + 500 },
    documents: [{ kind: 'tax_invoice' }, { kind: 'tax_invoice' }, { kind: 'credit_note', corrects: note.corrects }],
  })
})

t.test('a company changes over between two invoices; the earlier ones keep their lines and bytes', async t => {
  const { deliver, make, post, read, apply, file, app, tenant, token, refused } = await startTwo(t, {
    money: { documents: 'one' },
  })
  await deliver(0, 1000)
  const [one] = await make()
  const { invoice_no: no } = await post(`/invoice/${one.id}/submit`)
  const readBytes = async () => {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant': tenant }
    return (await app.inject({ url: `/api/public/merchant/invoice/${no}?format=pdf`, headers })).rawPayload.toString(
      'base64',
    )
  }
  const [bytes, before] = [await readBytes(), await read(no)]
  await deliver(0, 2000)
  const money = { payable_when: 'delivered', objection_hours: 0 }
  t.equal((await apply({ ...file, tenant: { ...file.tenant, money } } as typeof file)).kind, 'applied')
  t.match(await make(), [
    { document: 'tax_invoice', charges_due: 554.6 },
    { document: 'remittance', total: 1960 - 554.6 },
  ])
  t.equal(await readBytes(), bytes)
  t.strictSame(await read(no), before)
  t.match(await apply(file), {
    kind: 'refused',
    errors: { 'tenant.money.documents': ['The company has tax invoices: it keeps two.'] },
  })
  t.match(await refused('/invoice/nothing/submit'), undefined)
})
