import t from 'tap'
import { findContradictions, readCsv, readPages } from '../../test/expect-books.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { preparePayer } from '../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'

t.test('the journal names what booked each entry, and how the bank knows it', async t => {
  const money = { payable_when: 'delivered', objection_hours: 0 }
  const file = { ...tenantFile({ money }), statuses: shortStatuses }
  Object.assign(file.merchants[0] ?? {}, { charges_apart: true })
  const fixture = await tenantFixture(t, { file })
  const { make, move, request, staffOf, staffGet } = fixture
  const pay = await preparePayer(fixture)
  const { today, shop } = await fixture.readFacts()
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = async (path: string, body: object, options = {}) => {
    const response = await request('POST', path, body, options)
    t.equal(response.status, 200, `${path} ${JSON.stringify(response.body)}`)
    return response.body.data
  }
  const staff = (path: string, body = {}, token = clerk) => post(`/api/staff${path}`, body, { token })
  const invoice = async () => {
    const [{ id }] = await staff('/invoice', { merchant_id: shop, until: today })
    return (await staff(`/invoice/${id}/submit`)).invoice_no as string
  }
  const dispute = async (no: string, waybill: string) => {
    await post(`/api/public/merchant/invoice/${no}/dispute`, { waybill_numbers: [waybill], reason: 'Open' })
    const { versions } = (await fixture.get(`/invoice/${no}`)).body.data
    return versions.at(-1).credit_note_no as string
  }
  /** Lists the entries of what `isWanted` names, without their amounts. */
  const entries = async (isWanted: (entry: Record<string, unknown>) => boolean) =>
    (await readPages(fixture, `/ledger/journal?from=${today}&to=${today}`))
      .filter(isWanted)
      .map(({ kind, document, invoice_no, batch_no, bank_reference }) => [
        ...[kind, document, invoice_no, batch_no, bank_reference],
      ])
  const ofParcel = (waybill: string) => entries(({ waybill_number }) => waybill_number === waybill)

  const waybills = ['DM95000001', 'DM95000002', 'DM95000003'] as const
  await make([...waybills], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  await move([...waybills], 'key_13', { collected_by: 'Nimal' })
  const moved = ['delivered', null, null, null, null]
  t.strictSame(await ofParcel(waybills[0]), [moved, moved], 'a move has no document but the parcel')

  const cancelled = await invoice()
  const notes = [await dispute(cancelled, waybills[0]), await dispute(cancelled, waybills[1])] as const
  const before = await entries(() => true)
  await staff(`/invoice/${cancelled}/cancel`, { reason: 'A wrong day' })
  t.same(
    (await entries(() => true)).map(entry => entry.with(2, null)),
    before.map(entry => entry.with(2, null)),
    'a cancellation moves no money',
  )
  await staff(`/invoice/${cancelled}/dispute/settle`, { waybill_numbers: [waybills[1]], reason: 'Checked' })
  const no = await invoice()
  for (const [index, waybill] of [waybills[0], waybills[1]].entries())
    t.same(
      await ofParcel(waybill),
      [
        ...[moved, moved, ['disputed', notes[index], null, null, null]].map(entry => entry.with(2, no)),
        ...(index === 1 ? [['released', cancelled, no, null, null]] : []),
      ],
      'the invoice is the newest; the credit note stays',
    )

  await staff(`/invoice/${no}/approve`)
  t.equal((await pay([no], 'OUT 1', today)).status, 200)
  await staff(`/invoice/${no}/charges`, { bank_reference: 'IN 1' })
  const returned = { kind: 'returned_transfer', invoice_no: no, bank_reference: 'BACK 1', reason: 'Closed' }
  const { correction_id: id } = await staff('/ledger/correction', returned)
  await staff(`/ledger/correction/${id}/approve`, {}, second)
  t.equal((await pay([no], 'OUT 2', today)).status, 200)
  await staff('/cash/handover', { collected_by: 'Nimal', declared: 3000, counted: 3000 })
  await staff('/cash/deposit', { amount: 3000, bank_reference: 'BOC 1' })
  const atBank = [
    ['payment', no, null, 'PAY-00001', 'OUT 1'],
    ['charges_paid', no, null, null, 'IN 1'],
    ['returned_transfer', String(id), null, null, 'BACK 1'],
    ['payment', no, null, 'PAY-00002', 'OUT 2'],
    ['deposit', 'BOC 1', null, null, 'BOC 1'],
  ]
  t.strictSame(await entries(({ debit, credit }) => debit === 'bank' || credit === 'bank'), atBank)
  const csv = await readCsv(fixture, `/ledger/journal?from=${today}&to=${today}&account=bank`)
  t.match(csv[0], /^\uFEFF\w.*,kind,document,invoice_no,batch_no,bank_reference$/)
  t.match(csv[1], /,PAY-00001,OUT 1$/)
  const { totals } = (await staffGet(`/ledger/month?month=${today.slice(0, 7)}`)).body.data
  const booked = { opening: 0, collected: 3000, charges: 1350, disputed: 1000, paid: 4000, received: 3350, closing: 0 }
  t.match(totals, booked, 'both payments, and what came back or was paid in')
  t.strictSame(await findContradictions(fixture, today, today), [])
})
