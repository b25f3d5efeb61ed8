import t from 'tap'
import type { TenantFile } from '../../core/provisioning/tenant-file.ts'
import { readCsv, readPages } from '../../test/expect-books.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { shortStatuses, tenantFile, withCards } from '../../test/tenant.ts'

t.test('the audit', async t => {
  const fixture = await tenantFixture(t, { file: { ...tenantFile(), statuses: shortStatuses } })
  const { make, move, request, staffOf, staffGet, apply, tenant, rows, today, shop } = {
    ...fixture,
    ...(await fixture.readFacts()),
  }
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  await make(['DM95000001', 'DM95000002'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  await move(['DM95000001', 'DM95000002'], 'key_13', { collected_by: 'Nimal' })
  await post('/cash/handover', { collected_by: 'Nimal', declared: 2000, counted: 2000 })
  const correction = { kind: 'write_off', waybill_number: 'DM95000001', amount: 10, reason: 'Goodwill' }
  const { correction_id } = (await post('/ledger/correction', correction)).body.data
  await post(`/ledger/correction/${correction_id}/approve`, {}, second)
  const path = `/audit?from=2026-01-01&to=${today}`
  const list = async (filter = ''): Promise<{ action: string; actor: string; details: string[] }[]> =>
    (await staffGet(`${path}${filter}`)).body.data
  const name = (entries: readonly { action: string; actor: string }[]) =>
    entries.map(({ action, actor }) => `${actor} ${action}`)

  t.test('lists who did what, newest first, by noun, person, parcel and day', async t => {
    const all = await readPages(fixture, path, { limit: 3 })
    t.strictSame(all, await list('&limit=200'), 'page by page')
    t.equal(all.length, Number((await rows('select count(*) as n from audit'))[0].n))
    const times = all.map(({ at }) => String(at))
    t.strictSame(times, times.toSorted().toReversed())
    t.strictSame(name(await list('&noun=correction')), ['Ruwan correction.approved', 'Chamari correction.made'])
    t.match(await list('&noun=correction&person=Ruwan'), [
      { actor_kind: 'staff', object_id: `correction ${correction_id}`, details: null, token_id: /./, request_id: /./ },
    ])
    t.equal((await list('&noun=correction&person=Ruwan')).length, 1)
    t.strictSame(name(await list('&waybill_number=DM95000001')), ['Kamal Perera order.status_changed'])
    t.strictSame(await list('&person=Nobody'), [])
    t.strictSame((await staffGet('/audit?from=2026-01-01&to=2026-01-02')).body, { data: [], next_cursor: null })
  })

  t.test('keeps old and new values of taxes, masks, four_eyes and terms', async t => {
    const money = { four_eyes: true, invoice_mask: 'INV-####', payable_when: 'banked', compensation_max: 2000 }
    const withholding = [{ name: 'INCOME', rates: [{ from: '2025-07-01', goods: 'shoes', percent: 1 }] }]
    const file = {
      ...withCards(tenantFile({ tax_percent: 18, withholding, money })),
      statuses: shortStatuses,
    } as TenantFile
    Object.assign(file.merchants[0]?.businesses[0] ?? {}, { goods: 'shoes' })
    Object.assign(file.merchants[0] ?? {}, { payable_after_days: 3, password: 'another-secret', phone: '+94112345678' })
    Object.assign(file.rate_cards[0] ?? {}, { return_fee: 150 })
    t.match(await apply(file, true), { kind: 'applied' })
    t.equal((await list('&noun=tenant')).length, 1, 'a dry run leaves no trace')
    await apply(file)
    const [applied, first] = await list('&noun=tenant')
    t.strictSame(applied?.details.toSorted(), [
      'business 7290 goods: - -> shoes',
      'company compensation_max: - -> 2000',
      'company four_eyes: false -> true',
      'company invoice_mask: CFX-YY-MM-##### -> INV-####',
      'company payable_when: handed_over -> banked',
      'company tax_percent: 0 -> 18',
      `company withholding: - -> ${JSON.stringify(withholding)}`,
      `merchant ${shop} payable_after_days: - -> 3`,
      'rate card standard return_fee: 0 -> 150',
    ])
    t.equal(first?.details, null, 'a new company has no old values')
    t.notMatch(JSON.stringify([applied, first]), /secret|94112345678/)
    await apply({ ...file, tenant: { ...file.tenant, name: 'Renamed' } })
    t.match((await list('&noun=tenant'))[0], { action: 'tenant.applied', details: null })
  })

  t.test('has a CSV with all, which no spreadsheet runs', async t => {
    const [head, ...lines] = await readCsv(fixture, `${path}&noun=tenant`)
    t.equal(head, '\uFEFFat,actor_kind,actor,action,object_id,token_id,request_id,details')
    t.equal(lines.length, 3)
    t.match(lines[1], `,tenant.applied,${tenant},,,"company tax_percent: 0 -> 18; `)
    const entries = await readCsv(fixture, path)
    t.equal(entries.length - 1, (await list('&limit=200')).length)
    await rows(
      `insert into audit (tenant_id, actor_kind, actor, action) values ('${tenant}', 'staff', '=1+1', 'act.decided')`,
    )
    t.match(await readCsv(fixture, `${path}&noun=act`), [head, /,staff,'=1\+1,act\.decided,/])
  })

  t.test('refuses unknown nouns, days to come, long ranges, strange cursors, and other roles', async t => {
    const cursor = Buffer.from('2026-02-30T00:00:00.000000Z 1').toString('base64url')
    const refused: [string, object][] = [
      ['&noun=money', { noun: [/^The noun field must be one of tenant, token/] }],
      [`&cursor=${cursor}`, { cursor: ['The cursor field must be the next_cursor of a page.'] }],
      ['&cursor=x', { cursor: ['The cursor field must be the next_cursor of a page.'] }],
      ['&waybill_number=%00', { waybill_number: ['The waybill number field must be a waybill number.'] }],
    ]
    for (const [filter, errors] of refused)
      t.match(await staffGet(`${path}${filter}`), { status: 422, body: { errors } }, filter)
    t.match((await staffGet(`/audit?from=2024-01-01&to=${today}`)).body.errors, { to: ['Give at most 366 days.'] })
    t.match((await staffGet('/audit?from=2026-01-01&to=2099-01-01')).body.errors, { to: [/or earlier/] })
    const token = await fixture.createToken('books@example.com')
    t.equal((await staffGet(path, { token })).status, 401)
  })
})
