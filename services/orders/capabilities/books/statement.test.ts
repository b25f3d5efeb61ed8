import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { readCsv } from '../../test/expect-books.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { foldDay } from '../money/ledger/fold-and-seal.ts'

t.test('statements', async t => {
  const fixture = await tenantFixture(t, { file: { ...tenantFile(), statuses: shortStatuses } })
  const { make, move, staffGet, pool, rows, tenant } = fixture
  const { today } = await fixture.readFacts()
  for (const [waybill, day] of [['DM94000001', '2026-02-18'] as const, ['DM94000002', '2026-02-19'] as const]) {
    await make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
    for (const table of ['money_lines', 'ledger_transfers'])
      await rows(`update ${table} set booked_on = $1 where booked_on = $2`, [day, today])
  }
  await make(['DM94000003'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  t.equal((await move(['DM94000003'], 'key_13', { collected_by: 'Nimal' })).status, 200)
  const statement = (query: string) => staffGet(`/ledger?account=rider:Nimal&${query}`)

  t.test('a statement reads the same before and after its days are folded', async t => {
    const days = [
      { booked_on: '2026-02-19', debit: 1000, credit: 0, balance: 2000 },
      { booked_on: today, debit: 1000, credit: 0, balance: 3000, seal: null },
    ]
    const wanted = { account: 'rider:Nimal', opening: 1000, closing: 3000, days }
    const query = `from=2026-02-19&to=${today}`
    t.match((await statement(query)).body.data, wanted)
    const empty = { opening: 0, closing: 0, days: [] }
    t.match((await statement('from=2026-01-01&to=2026-01-31')).body.data, empty, "the account's first entry came later")
    while ((await inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant))) > 0);
    const { data } = (await statement(query)).body
    t.match(data, { ...wanted, days: [{ ...days[0], seal: /^[0-9a-f]{64}$/ }, days[1]] })
    t.match((await statement('from=2026-01-01&to=2026-01-31')).body.data, empty)
    t.match((await statement('from=2026-02-01&to=2026-02-18')).body.data, {
      ...{ opening: 0, closing: 1000, days: [{ debit: 1000 }] },
    })
  })

  t.test('serves CSV with the opening and the closing balance, and refuses malformed queries', async t => {
    t.match(await readCsv(fixture, '/ledger?account=rider:Nimal&from=2026-02-19&to=2026-02-20'), [
      'booked_on,counter_account,debit,credit,balance,seal',
      '2026-02-19,opening,,,1000,',
      /^2026-02-19,merchant:\d+,1000,0,2000,[0-9a-f]{64}$/,
      '2026-02-20,closing,,,2000,',
    ])
    t.equal((await statement('from=2026-02-30&to=2026-02-19')).status, 422)
    t.equal((await statement('from=2026-02-19&to=2026-02-18')).status, 422)
    t.equal((await statement('from=2020-02-19&to=2026-02-18')).status, 422)
    t.match((await staffGet('/ledger?account=%00&from=2026-02-19&to=2026-02-19')).body.errors, {
      account: ['The account field must be the name of an account.'],
    })
    t.equal((await staffGet('/ledger?account=nobody&from=2026-02-19&to=2026-02-19')).status, 404)
  })
})
