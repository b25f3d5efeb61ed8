import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { readKeys } from '@courier/shared/vault.ts'
import t from 'tap'
import { applyTenant } from '../../../core/provisioning/apply.ts'
import { checkFile } from '../../../core/provisioning/check-file.ts'
import { companyFile } from '../../../test/build.ts'
import { ordersFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile, withCards } from '../../../test/tenant.ts'

const docs = await readFile(new URL('../../../../../docs/money.md', import.meta.url), 'utf8')
const section = docs.split('### The file for the bank')[1]?.split('\n## ')[0] ?? ''
/** Holds the templates of the docs: of Harbour Bank, then of Hill Bank. */
const [harbour, hill] = [...section.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => JSON.parse(json))

const companyOf = (bank_file?: object) => ({
  ...withCards(tenantFile({ money: { objection_hours: 0, ...(bank_file && { bank_file }) } })),
  statuses: shortStatuses,
})
const refuse = (bank_file: object, currency = 'LKR') => {
  const checked = checkFile(tenantFile({ currency, money: { bank_file } }), companyFile)
  if (checked.kind === 'accepted') return 'accepted'
  const prefix = 'tenant.money.bank_file.'
  return Object.fromEntries(Object.entries(checked.errors).map(([path, [first]]) => [path.replace(prefix, ''), first]))
}

t.test("each template of the docs writes a batch of several merchants, as the bank's bytes", async t => {
  const keyring = readKeys('WEBHOOK_KEYS', `k:${randomBytes(32).toString('base64')}`)
  const fixture = await ordersFixture(t, { file: companyOf(), keyring })
  const { make, makeOfBooks, move, request, staffOf, staffGet, rows, pool, app, staffToken } = fixture
  const { today, shop, books } = await fixture.readFacts()
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const use = (bank_file?: object) => applyTenant(pool, companyOf(bank_file), false, { companyFile })
  const accounts = {
    [shop]: { bank: 'Bank of Ceylon', holder: '=Lanka; "Shoes"', number: '007 123-4567' },
    [books]: { bank: 'Bank of Ceylon', branch: 'Galle', holder: 'Ceylon Books', number: '88-7766554433' },
  }
  for (const [merchant, account] of Object.entries(accounts)) {
    await post(`/merchant/${merchant}/bank-account`, account)
    await post(`/merchant/${merchant}/bank-account/confirm`, { version: 1, number: account.number }, second)
  }
  await rows(`update bank_accounts set changed_at = '2026-01-01'`)
  await make(['DM95000001'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  await makeOfBooks(['DM96000001'], { initial_status_key: 'key_2', cod: 15_900, weight: 1 })
  await move(['DM95000001', 'DM96000001'], 'key_13', { collected_by: 'Nimal' })
  await post('/cash/handover', { collected_by: 'Nimal', declared: 16_900, counted: 16_900 })
  for (const { id } of (await post('/invoice', { all: true, until: today })).body.data) {
    await post(`/invoice/${id}/submit`, {})
    await post(`/invoice/${id}/approve`, {}, second)
  }
  const makeBatch = () => post('/payout', { all: true })
  /** Makes and releases a batch, reads its file, and returns its payments to those that are due. */
  const pay = async (bank_file?: object) => {
    t.match(await use(bank_file), { kind: 'applied' })
    const { batch_no, total, items } = (await makeBatch()).body.data
    t.match([total, items.length], [16_000, 2])
    await staffGet(`/payout/${batch_no}/lines`, { token: second })
    t.equal((await post(`/payout/${batch_no}/release`, {}, second)).status, 200)
    const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': 'demo' }
    const file = await app.inject({ url: `/api/staff/payout/${batch_no}?format=csv`, headers })
    const numbers = items.map(({ invoice_no }: { invoice_no: string }) => invoice_no)
    await post(`/payout/${batch_no}/fail`, { invoice_nos: numbers, reason: 'Again' })
    return { batch_no, numbers, text: file.payload, headers: file.headers }
  }

  t.test('without a template it is the CSV of earlier releases', async t => {
    const { batch_no, numbers, text, headers } = await pay()
    t.equal(
      text,
      [
        'batch_no,invoice_no,merchant_name,amount,currency,bank,branch,holder,number,reference',
        `${batch_no},${numbers[0]},Lanka Shoes,550.00,LKR,Bank of Ceylon,,"'=Lanka; ""Shoes""",007 123-4567,MI-0001`,
        `${batch_no},${numbers[1]},Ceylon Books,15450.00,LKR,Bank of Ceylon,Galle,Ceylon Books,88-7766554433,MI-0002`,
        '',
      ].join('\r\n'),
    )
    t.match(headers, { 'content-type': /^text\/csv/, 'content-disposition': `attachment; filename="${batch_no}.csv"` })
  })

  t.test('Harbour Bank gets semicolons, and texts that have one in quotation marks', async t => {
    const { batch_no, text } = await pay(harbour)
    const day = today.split('-').toReversed().join('/')
    t.equal(
      text,
      [
        `H;0099887766;${day};${batch_no}`,
        `P;1;0071234567;"'=Lanka; ""Shoes""";550,00;LKR;MI-0001`,
        'P;2;887766554433;Ceylon Books;15450,00;LKR;MI-0002',
        'T;2;16000,00',
        '',
      ].join('\n'),
    )
  })

  t.test('Hill Bank gets fixed widths, whose amounts have no point', async t => {
    const { batch_no, text, headers } = await pay(hill)
    t.equal(
      text,
      [
        `1000099887766${today.replaceAll('-', '')}${batch_no}   `,
        `200000071234567000000055000'=Lanka; "Shoes"        MI-0001   `,
        '200887766554433000001545000Ceylon Books            MI-0002   ',
        '9000002000000001600000',
        '',
      ].join('\r\n'),
    )
    t.match(headers, { 'content-type': /^text\/plain/, 'content-disposition': /\.txt"$/ })
  })

  t.test('a value that does not fit is named, never cut, and pays nothing', async t => {
    const columns = (holder: object) => [{ field: 'plain_number' }, { field: 'amount' }, { field: 'holder', ...holder }]
    const why = 'The file for the bank has 15 characters for holder, which has 16.'
    await use({ separator: ',', columns: columns({ width: 15 }) })
    const { due, left_out } = (await staffGet('/payout')).body.data
    t.match([due, left_out], [[{ merchant_name: 'Ceylon Books' }], [{ merchant_name: 'Lanka Shoes', why }]])
    const named = await post('/payout', { invoice_nos: [due[0].invoice_no, left_out[0].invoice_no] })
    t.strictSame(named.body.errors, { 'invoice_nos.1': [why] })
    await use({ ...harbour, trailer: [[{ field: 'sum', width: 7 }]] })
    const all = ['The file for the bank has 7 characters for sum, which has 8.']
    t.strictSame((await makeBatch()).body.errors, { all })
    const letters = [
      { field: 'plain_number', width: 20 },
      { field: 'amount', width: 9 },
    ]
    await use({ columns: [...letters, { field: 'merchant_name', width: 30 }] })
    await rows(`update merchants set name = 'Café' where email = 'shop@example.com'`)
    t.match((await staffGet('/payout')).body.data.left_out, [{ why: /only ASCII characters, and merchant_name has/ }])
    await use()
    t.equal((await staffGet('/payout')).body.data.due.length, 2)
  })
})

t.test('apply names what is wrong with a template', async t => {
  const pays = [{ field: 'number' }, { field: 'amount' }]
  const table: [object, Record<string, string | RegExp>, string?][] = [
    [
      { separator: ';', columns: [...pays, { field: 'iban' }] },
      { 'columns.2.field': /^The field field must be one of batch_no/ },
    ],
    [{ separator: ';', columns: pays, footer: [] }, { footer: 'The footer field is not known.' }],
    [{ separator: ';', columns: [{ field: 'number' }] }, { columns: /a column of amount/ }],
    [{ separator: ';', columns: [...pays, {}] }, { 'columns.2': 'Give either field or text.' }],
    [{ columns: pays }, { 'columns.0': /^Give a width/, 'columns.1': /^Give a width/ }],
    [{ separator: ';', columns: [...pays, { text: 'a', pad: '0' }] }, { 'columns.2': /^Give a width, too/ }],
    [
      { separator: ';', columns: [pays[0], { field: 'amount', width: 9, pad: '0' }] },
      { 'columns.1': /^Digits after a value would change it/ },
    ],
    [
      { separator: ';', columns: pays, header: [[{ field: 'made_on', width: 8 }]] },
      { 'header.0.0': 'The file for the bank has 8 characters for made_on, which has 10.' },
    ],
    [{ separator: ';', columns: pays, trailer: [[{ text: 'END', width: 2 }]] }, { 'trailer.0.0': /for the text/ }],
    [{ separator: ';', quote: 'never', columns: pays }, { quote: /^The quote field must be one of needed, always/ }],
    [{ separator: ';', decimals: 1, columns: pays }, { decimals: 'LKR has 2: give at least as many.' }],
    [{ ...hill, quote: 'needed' }, { quote: /^A file without a separator quotes nothing/ }],
    [
      { separator: ';', columns: pays, header: [[{ field: 'amount' }]] },
      { 'header.0.0.field': /^The field field must be/ },
    ],
  ]
  for (const [template, errors] of table) {
    const found = refuse(template)
    t.match(found, errors, JSON.stringify(template))
    t.strictSame(Object.keys(found), Object.keys(errors), JSON.stringify(template))
  }
  for (const template of [harbour, hill, { separator: ';', decimals: 2, columns: pays }])
    t.equal(refuse(template), 'accepted')
  t.match(refuse({ separator: ';', decimals: 2, columns: pays }, 'KWD'), {
    decimals: 'KWD has 3: give at least as many.',
  })
})
