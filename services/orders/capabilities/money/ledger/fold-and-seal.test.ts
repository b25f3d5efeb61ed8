import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { connectTo } from '../../../../../dev/test-database.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { untilWaiting } from '../../../test/waiting.ts'
import { checkLedger, listFindings } from './check-ledger.ts'
import { digestsSql, foldDay, seal } from './fold-and-seal.ts'

t.test('folded days', async t => {
  const fixture = await tenantFixture(t, { file: { ...tenantFile(), statuses: shortStatuses } })
  const { make, move, get, request, staffOf, pool, rows, tenant } = fixture
  const deliver = async (waybill: string) => {
    await make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
  }
  const fold = () => inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant))

  await deliver('DM94000001')
  await rows(`update money_lines set booked_on = '2026-02-18'`)
  await rows(`update ledger_transfers set booked_on = '2026-02-18'`)
  await deliver('DM94000002')
  await rows(`update money_lines set booked_on = '2026-02-19' where booked_on > '2026-02-18'`)
  await rows(`update ledger_transfers set booked_on = '2026-02-19' where booked_on > '2026-02-18'`)
  await deliver('DM94000003')

  t.test('a parcel keeps the day of its delivery after the handover of its cash', async t => {
    await make(['DM94000009'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    await move(['DM94000009'], 'key_13', { collected_by: 'Sunil' })
    await rows(`update money_lines set booked_on = booked_on - 1 where waybill_number = 'DM94000009'`)
    const day = async () => (await get('/order/finance?waybill_numbers=DM94000009')).body.data[0].booked_on
    const delivered = await day()
    const body = { collected_by: 'Sunil', declared: 1000, counted: 1000 }
    t.equal((await request('POST', '/api/staff/cash/handover', body, { token: await staffOf('Chamari') })).status, 200)
    t.equal(await day(), delivered)
    await rows(`update money_lines set booked_on = booked_on + 1 where waybill_number = 'DM94000009'
      and kind = 'delivered'`)
  })

  t.test('each day is folded once, when it has ended', async t => {
    t.strictSame(await Promise.all([fold(), fold()]), [1, 1])
    t.equal(await fold(), 0, 'today is not folded')
    t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
    const merchants = await rows(`select distinct on (account) account, balance::float8 from ledger_days
      where account like 'merchant:%' order by account, booked_on desc, counter_account desc`)
    t.match(merchants, [{ balance: -1100 }], 'two parcels of 1,000 less 450')
  })

  t.test('the time zone of a company cannot change while a sealed day has not ended in the new zone', async t => {
    const inZone = (time_zone: string) => {
      const file = tenantFile()
      return fixture.apply({ ...file, tenant: { ...file.tenant, time_zone }, statuses: shortStatuses })
    }
    const west = 'Etc/GMT+12'
    const sealed = `(now() at time zone '${west}')::date`
    await rows(`insert into ledger_seals (tenant_id, booked_on, seal) values ('${tenant}', ${sealed}, 'x')`)
    const [{ day }] = await rows(`select ${sealed}::text as day`)
    t.match(await inZone(west), {
      kind: 'refused',
      errors: {
        'tenant.time_zone': [
          `The ledger has sealed ${day}, which has not ended in this time zone: apply the file after that day.`,
        ],
      },
    })
    await rows(`update ledger_seals set booked_on = booked_on - 1 where seal = 'x'`)
    t.equal((await inZone(west)).kind, 'applied')
    await rows(`delete from ledger_seals where seal = 'x'`)
    t.equal((await inZone('Asia/Colombo')).kind, 'applied')
  })

  t.test('the check finds nothing wrong in a day that is folded meanwhile', async t => {
    for (let round = 0; round < 20; round++) {
      await rows('delete from ledger_days')
      await rows('delete from ledger_seals')
      const checks = Array.from({ length: 8 }, (_, n) => delay(3 * n).then(() => checkLedger(pool, tenant)))
      const folds = fold().then(fold)
      const found = (await Promise.all(checks)).flatMap(listFindings)
      t.strictSame([found, await folds], [[], 1])
    }
  })

  t.test('a seal of an earlier version covers the sums of its day alone, and stays valid', async t => {
    const digests = await rows(digestsSql().replaceAll('$1', `'${tenant}'`))
    const seals = await rows('select booked_on::text, seal, version from ledger_seals order by booked_on')
    const [first, second] = ['2026-02-18', '2026-02-19']
    t.match(seals, [
      { booked_on: first, version: 2 },
      { booked_on: second, version: 2 },
    ])
    const of = (day: string) => digests.find(({ booked_on }) => booked_on === day)
    const old = hash('sha256', `\n${first}\n${of(first).sums}`)
    await rows('update ledger_seals set seal = $1, version = 1 where booked_on = $2', [old, first])
    await rows('update ledger_seals set seal = $1 where booked_on = $2', [seal(old, second, of(second)), second])
    t.strictSame((await checkLedger(pool, tenant)).broken_seals, [])
    const change = (day: string, reason: string | null) =>
      rows('update money_lines set reason = $1 where booked_on = $2', [reason, day])
    await change(first, 'changed later')
    t.strictSame((await checkLedger(pool, tenant)).broken_seals, [], 'its seal does not cover lines')
    await change(second, 'changed later')
    t.strictSame((await checkLedger(pool, tenant)).broken_seals, [second])
    await change(first, null)
    await change(second, null)
    for (const { booked_on, ...columns } of seals)
      await rows('update ledger_seals set seal = $1, version = $2 where booked_on = $3', [
        ...[columns.seal, columns.version, booked_on],
      ])
    t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
  })

  t.test('the check finds a changed day, a changed seal and a transfer booked on a sealed day', async t => {
    await rows(`update ledger_days set debit = debit + 1 where booked_on = '2026-02-18' and account = 'rider:Nimal'`)
    t.match(await checkLedger(pool, tenant), { wrong_days: ['2026-02-18'], broken_seals: ['2026-02-18'] })
    await rows(`update ledger_days set debit = debit - 1 where booked_on = '2026-02-18' and account = 'rider:Nimal'`)
    await rows(
      `update ledger_days set balance = balance + 1 where booked_on = '2026-02-18' and account = 'rider:Nimal'`,
    )
    t.strictSame(listFindings(await checkLedger(pool, tenant)), [['wrong_days', '2026-02-18']])
    await rows(
      `update ledger_days set balance = balance - 1 where booked_on = '2026-02-18' and account = 'rider:Nimal'`,
    )
    await rows(`update ledger_seals set seal = 'x' where booked_on = '2026-02-18'`)
    t.strictSame(
      (await checkLedger(pool, tenant)).broken_seals,
      ['2026-02-18', '2026-02-19'],
      'the next seal covers the changed one',
    )
    await rows(
      `insert into ledger_transfers select tenant_id, uuidv7(), debit, credit, 1, '2026-02-19' from ledger_transfers
        limit 1`,
    )
    t.match(await checkLedger(pool, tenant), { wrong_days: ['2026-02-19'] })
  })
})

t.test('a new time zone waits for bookings that the old one dates', async t => {
  const inZone = (time_zone: string) => {
    const file = tenantFile()
    return { ...file, tenant: { ...file.tenant, time_zone } }
  }
  const fixture = await tenantFixture(t, { file: inZone('Etc/GMT+12') })
  const { make, request, staffToken, pool, database, tenant } = fixture
  const compensate = (waybill_number: string) =>
    request('POST', '/api/staff/compensation', { waybill_number, amount: 1, reason: 'Lost' }, { token: staffToken })
  const [first = '', second = ''] = await make(['DM94000031', 'DM94000032'])
  t.equal((await compensate(first)).status, 200)
  const owner = await connectTo(t, database.superuserUrl)
  await owner.query('begin; lock table ledger_transfers in share mode')
  const booking = compensate(second)
  await untilWaiting(owner)
  const applying = fixture.apply(inZone('Pacific/Kiritimati'))
  await untilWaiting(owner, 2)
  const fold = () => inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant))
  await fold()
  await owner.query('rollback')
  t.match([await booking, await applying], [{ status: 200 }, { kind: 'applied' }])
  t.equal(await fold(), 1)
  t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
})
