import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { connectTo } from '../../../../../dev/test-database.ts'
import { ordersFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { startService } from '../test/service.ts'

t.test('a process killed in or after each step of a pay run leaves all of the step or none, and pays once', async t => {
  const fixture = await ordersFixture(t, {
    file: { ...tenantFile({ money: { objection_hours: 0 } }), statuses: shortStatuses },
  })
  const { database, make, move, request, rows, pool } = fixture
  const { today } = await fixture.readFacts()
  await preparePayer(fixture)
  const tokens = { maker: await fixture.staffOf('Chamari'), second: await fixture.staffOf('Ruwan') }
  const inProcess = (path: string, body: object) => request('POST', `/api/staff${path}`, body, { token: tokens.maker })
  const waybills = ['DM95000001', 'DM95000002', 'DM95000003']
  await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  const numbers: string[] = []
  for (const waybill of waybills) {
    await move([waybill], 'key_13', { collected_by: 'Nimal' })
    await inProcess('/cash/handover', { collected_by: 'Nimal', declared: 1000, counted: 1000 })
    const [{ id }] = (await inProcess('/invoice', { all: true, until: today })).body.data
    await inProcess(`/invoice/${id}/submit`, {})
    numbers.push((await inProcess(`/invoice/${id}/approve`, {})).body.data.invoice_no)
  }
  const owner = await connectTo(t, database.superuserUrl)
  const start = async () => {
    const { send, kill } = await startService(t, database)
    const post = (path: string, body: object, who: 'maker' | 'second', key: string) =>
      send('POST', path, body, tokens[who], key)
    return { post, kill }
  }
  /** Describes all that a step may change. */
  const snapshot = () =>
    rows(`select (select json_agg(b order by batch_no) from payout_batches b) as batches,
      (select json_agg(i order by batch_no, invoice_id) from payout_items i) as items,
      (select json_agg(i order by invoice_id) from invoices i) as invoices,
      (select count(*) from ledger_transfers) as transfers, (select count(*) from log) as log,
      (select count(*) from audit) as audit`)
  const untilSome = async (what: string, text: string) => {
    for (let tries = 0; tries < 600; tries++) {
      if ((await owner.query(text)).rows.length > 0) return
      await delay(50)
    }
    throw new Error(what)
  }
  const waiting = `select from pg_locks where relation = 'audit'::regclass and not granted`
  const gone = `select where not exists (
    select from pg_stat_activity where datname = current_database() and query like '%insert into audit%'
      and state <> 'idle' and pid <> pg_backend_pid())`
  let service = await start()

  /** Repeats the last step, as a caller does that lost the response. */
  let repeat = async () => {}
  /** Kills the process before the commit, which is also after that of the last step. */
  const survive = async (path: string, body: object, who: 'maker' | 'second' = 'second') => {
    const before = await snapshot()
    await owner.query('begin; lock table audit in access exclusive mode')
    const lost = service.post(path, body, who, path).catch(() => undefined)
    await untilSome('the step waits before its commit', waiting)
    await service.kill()
    await owner.query('rollback')
    t.equal(await lost, undefined)
    await untilSome('the transaction has ended', gone)
    service = await start()
    t.strictSame(await snapshot(), before, `${path} was killed: nothing of it is there`)
    await repeat()
    const done = await service.post(path, body, who, path)
    t.equal(done.status, 200, done.text)
    repeat = async () => {
      const after = await snapshot()
      t.strictSame(await service.post(path, body, who, path), done, `${path} is repeated`)
      t.strictSame(await snapshot(), after)
      t.strictSame(listFindings(await checkLedger(pool, 'demo')), [])
    }
  }
  await survive('/payout', { all: true }, 'maker')
  await survive('/payout/PAY-00001/cancel', { reason: 'x' })
  await inProcess('/payout', { all: true })
  await request('GET', '/api/staff/payout/PAY-00002/lines', undefined, { token: tokens.second })
  await survive('/payout/PAY-00002/release', {})
  await survive('/payout/PAY-00002/fail', { invoice_nos: [numbers[0]], reason: 'Closed' })
  await survive('/payout/PAY-00002/settle', { bank_reference: 'B1', paid_on: today })
  await service.kill()
  service = await start()
  await repeat()
  const [{ paid }] = await rows(`select sum(amount)::float8 as paid from ledger_transfers where credit = 'bank'`)
  t.equal(paid, 1100)
})
