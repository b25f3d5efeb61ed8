import { setTimeout as delay } from 'node:timers/promises'
import { addAmounts } from '@courier/shared/currency.ts'
import t, { type Test } from 'tap'
import { connectTo } from '../../../../../dev/test-database.ts'
import { findContradictions } from '../../../test/expect-books.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { startService } from '../test/service.ts'
import { startTwoAlone } from '../test/two-documents.ts'

// Issues and pays documents of the same merchants by eight connections at once, and through kills of the service.

const connections = 8

/** Sends a request of staff; returns its status and data. */
type Send = (
  method: string,
  path: string,
  body?: object,
  who?: 'clerk' | 'second',
) => Promise<{
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: data of any route
  data: any
}>

/** Starts a company of three shops, of which the second pays its charges itself. */
const start = async (t: Test) => {
  const fixture = await startTwoAlone(t, { merchants: 3, apart: [1] })
  const { staffOf, request, rows, deliver, giveBack, post, second, today } = fixture
  const tokens = { clerk: await staffOf('Chamari'), second }
  const inProcess: Send = async (method, path, body, who = 'clerk') => {
    const { status, body: found } = await request(method as 'POST', `/api/staff${path}`, body, { token: tokens[who] })
    return { status, data: found.data }
  }
  /** Sells three parcels for each shop, one without COD, and takes one back. Returns their numbers. */
  const trade = async () => {
    const sold: string[] = []
    for (const shop of [0, 1, 2]) {
      for (const cod of [1000, 0, 2500]) sold.push(await deliver(shop, cod))
      await giveBack(shop)
    }
    return sold
  }
  const correct = async (waybill_number: string) => {
    const body = { kind: 'charges', waybill_number, delivery: 300, reason: 'Agreed on' }
    const { correction_id } = await post('/ledger/correction', body)
    await post(`/ledger/correction/${correction_id}/approve`, {}, second)
  }
  const merchants: number[] = (await rows('select merchant_id::int as id from merchants order by 1')).map(
    ({ id }) => id,
  )
  return { ...fixture, tokens, inProcess, trade, correct, merchants, today }
}
type Company = Awaited<ReturnType<typeof start>>

/** Makes, submits and approves what it finds, as others do at the same time: they are refused what is done already. */
const issue = async (send: Send, { merchants, today }: Company, worker: number) => {
  const merchant = merchants[worker]
  const seen = [
    await send('POST', '/invoice', { ...(merchant ? { merchant_id: merchant } : { all: true }), until: today }),
  ]
  for (const [state, step] of [
    ['draft', 'submit'],
    ['submitted', 'approve'],
  ]) {
    const { data } = await send('GET', `/invoice?state=${state}&limit=200`)
    for (const { id } of data.toReversed()) seen.push(await send('POST', `/invoice/${id}/${step}`, {}))
  }
  return seen.map(({ status }) => status)
}

/** Pays what is approved; releases and settles each batch that it finds. */
const payOut = async (send: Send, { today }: Company) => {
  const seen = [await send('POST', '/payout', { all: true })]
  const { data } = await send('GET', '/payout')
  for (const { batch_no: no, state } of data.batches) {
    if (!['made', 'released'].includes(state)) continue
    seen.push(await send('GET', `/payout/${no}/lines`, undefined, 'second'))
    seen.push(await send('POST', `/payout/${no}/release`, {}, 'second'))
    seen.push(await send('POST', `/payout/${no}/settle`, { bank_reference: `B ${no}`, paid_on: today }))
  }
  return seen.map(({ status }) => status)
}

const workAll = async (send: Send, company: Company) => {
  const worker = async (number: number) => [...(await issue(send, company, number)), ...(await payOut(send, company))]
  return (await Promise.all(Array.from({ length: connections }, (_, number) => worker(number)))).flat()
}

/** Lists what issuing and paying broke. */
const findBroken = async ({ rows }: Company): Promise<object> => {
  const [found] = await rows(`
    with issued as (select * from invoices where submitted_at is not null),
    numbers as (
      select invoice_no as number from issued
      union all select invoice_ref_no from issued where kind = 'remittance'
      union all select credit_note_no from invoice_versions where credit_note_no is not null
    ), series as (
      select regexp_replace(number, '\\d+$', '') as name, substring(number from '\\d+$')::int as place from numbers
    )
    select
      (select json_agg(name) from (
        select name from series group by name having count(distinct place) <> count(*) or max(place) <> count(*)
      ) broken) as series_with_gaps_or_repetitions,
      (select json_agg(json_build_array(kind, parcels, total, charges_due)) from invoices
        where kind = 'remittance' and parcels = 0 and total = 0
        or kind not in ('invoice', 'remittance') and charges_due = 0) as empty_documents,
      (select json_agg(invoice_no) from issued where (
        select count(*) from invoice_versions version where version.invoice_id = issued.invoice_id) <> 1) as versions,
      (select json_agg(invoice_no) from issued join lateral (
        select coalesce(sum(amount), 0) as amount from set_offs where set_offs.invoice_id = issued.invoice_id
      ) off on true where kind not in ('invoice', 'remittance')
        and (abs(off.amount) > abs(charges_due) or off.amount * charges_due < 0)) as set_off_twice,
      (select json_agg(invoice_id) from (
        select invoice_id from payout_items where state in ('open', 'paid') group by invoice_id having count(*) > 1
      ) broken) as paid_twice`)
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== null))
}

/** Compares the documents, as merchants read them, with what is booked: each charge and COD is on one of them. */
const compareDocuments = async (t: Test, company: Company) => {
  const { rows, read } = company
  const ids = await rows('select invoice_id::text as id from invoices where submitted_at is not null')
  const documents = await Promise.all(ids.map(({ id }) => read(id)))
  const listed = (isRemittance: boolean) =>
    documents
      .filter(({ document }) => (document === 'remittance') === isRemittance)
      .flatMap(({ lines }) => lines.map((line: Record<string, unknown>) => `${line.waybill_number} ${line.line_no}`))
      .toSorted()
  const booked = async (what: string) =>
    (await rows(`select waybill_number || ' ' || line_no as line from money_lines where ${what}`))
      .map(({ line }) => line)
      .toSorted()
  t.strictSame(
    listed(false),
    await booked('delivery + cod_fee + return_fee + tax <> 0'),
    'each charge is on one document',
  )
  t.strictSame(listed(true), await booked('cod > 0'), 'each COD is on one remittance')
  const [{ paid }] = await rows(`select coalesce(sum(amount), 0)::float8 as paid from ledger_transfers
    where credit = 'bank'`)
  const settled = documents.filter(({ document, state }) => document === 'remittance' && state === 'deposited')
  t.equal(paid, addAmounts(settled.map(({ total }) => total)), 'each remittance is paid once')
  return documents
}

/** Issues and pays what is left, then compares all of it. */
const finish = async (t: Test, send: Send, company: Company) => {
  for (let round = 0; round < 2; round++) {
    await issue(send, company, connections)
    await payOut(send, company)
  }
  t.strictSame(await findBroken(company), {})
  const documents = await compareDocuments(t, company)
  t.strictSame(await findContradictions(company, '2026-01-01', company.today), [])
  return documents.map(({ document }) => document)
}

t.test('eight connections issue and pay documents of the same merchants: no gap, and nothing twice', async t => {
  const company = await start(t)
  const { inProcess, trade, correct } = company
  const sold = await trade()
  await workAll(inProcess, company)
  for (const waybill of sold) await correct(waybill)
  await trade()
  // A busy machine may respond with 503 to what waited for too long: it has done nothing, and `finish` does it.
  const statuses = (await workAll(inProcess, company)).filter(status => status !== 503)
  t.strictSame(new Set(statuses), new Set([200, 422]), 'some were refused what others had done')
  t.ok((await finish(t, inProcess, company)).includes('credit_note'))
})

t.test('killed while it issues and pays, the service leaves all of a document or none, and pays once', async t => {
  const company = await start(t)
  const { database, tokens, trade, correct, inProcess, pool } = company
  const owner = await connectTo(t, database.superuserUrl)
  const untilNumber = async (what: string, text: string, least: number) => {
    for (let tries = 0; tries < 1000; tries++) {
      if (Number((await owner.query(text)).rows[0].number) >= least) return
      await delay(10)
    }
    throw new Error(`${what}: not within 10 s`)
  }
  const countSteps = `select count(*) as number from audit where action ~ '^(invoice|payout)'`
  const hasEnded = `select (count(*) = 0)::int as number from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`
  let sold: string[] = []
  for (const steps of [4, 12, 20]) {
    for (const waybill of sold) await correct(waybill)
    sold = await trade()
    const service = await startService(t, database)
    const call: Send = async (method, path, body, who = 'clerk') => {
      const { status, text } = await service.send(method, path, body, tokens[who])
      return { status, data: JSON.parse(text).data }
    }
    const [{ number }] = (await owner.query(countSteps)).rows
    const working = workAll(call, company).then(
      () => 'ended',
      () => 'killed',
    )
    await untilNumber(`${steps} steps`, countSteps, Number(number) + steps)
    await service.kill()
    t.equal(await working, 'killed')
    await untilNumber('the transactions have ended', hasEnded, 1)
    t.strictSame(await findBroken(company), {}, `killed after ${steps} steps`)
    t.strictSame(listFindings(await checkLedger(pool, 'demo')), [])
  }
  await workAll(inProcess, company)
  t.ok((await finish(t, inProcess, company)).includes('credit_note'))
})
