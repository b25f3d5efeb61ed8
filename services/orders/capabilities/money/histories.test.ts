import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { createChance } from '../../../../test/chance.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findContradictions } from '../../test/expect-books.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { preparePayer } from '../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from './ledger/check-ledger.ts'
import { foldDay } from './ledger/fold-and-seal.ts'

// Compares random histories of moves, reversals, handovers, invoices, disputes, payments and corrections with a model
// in plain arithmetic. MONEY_SEED repeats a history; MONEY_STEPS makes it longer.

const seed = Number(process.env.MONEY_SEED ?? Date.now() % 1_000_000)
const steps = Number(process.env.MONEY_STEPS ?? 150)
const charge = 450
const returnFee = 150

interface Parcel {
  readonly waybill: string
  readonly cod: number
  state: 'new' | 'delivered' | 'returned'
  /** The newest move was taken back. */
  isTaken: boolean
  place: 'none' | 'rider' | 'clearing' | 'office' | 'bank'
  /**
   * Holds the amount that the live line leaves for the shop until an invoice takes it; `more` is the amount of further
   * lines.
   */
  owed: number
  more: number
  invoice: string | null
  isCompensated: boolean
  /** Sum the compensation, and the corrections of what the live delivery collected. */
  compensation: number
  corrected: number
  isCorrected: boolean
  /** Sums the adjustments of settled disputes. */
  added: number
  settled: number
}

t.test(`histories of money agree with a model (MONEY_SEED=${seed})`, async t => {
  const file = { ...tenantFile({ money: { objection_hours: 0 } }), statuses: shortStatuses }
  Object.assign(file.rate_cards[0] ?? {}, { return_fee: returnFee })
  const fixture = await tenantFixture(t, { file })
  const { make, move, request, staffOf, get, staffGet, pool, rows, tenant } = fixture
  const pay = await preparePayer(fixture)
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  /** Returns the numbers of issued invoices, which the model knows by their ids. */
  const listNumbers = async (ids: readonly string[]): Promise<string[]> =>
    (await rows('select invoice_no from invoices where invoice_id = any($1::uuid[])', [ids]))
      .map(({ invoice_no }) => invoice_no)
      .toSorted()
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const { today, shop } = await fixture.readFacts()
  const random = createChance(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const parcels: Parcel[] = Array.from({ length: 24 }, (_, n) => {
    const fresh = {
      state: 'new',
      isTaken: false,
      place: 'none',
      owed: 0,
      more: 0,
      invoice: null,
      isCompensated: false,
      compensation: 0,
      corrected: 0,
      isCorrected: false,
      added: 0,
      settled: 0,
    } as const
    return { ...fresh, waybill: `DM96000${String(n).padStart(3, '0')}`, cod: [0, 300, 1000, 2500][n % 4] ?? 0 }
  })
  for (const { waybill, cod } of parcels) await make([waybill], { initial_status_key: 'key_2', cod, weight: 1 })
  let debt = 0
  let other = 0
  let references = 0
  let fees = 0
  const live = new Map<string, { state: string; total: number }>()
  const paid = new Map<string, number>()
  /** Sums the corrections of the shop's account that wait for an invoice. */
  let ofShop = 0
  const batches = new Map<string, { isReleased: boolean; numbers: string[] }>()
  const held = new Map<string, number>()
  const disputedOn = new Map<string, string>()
  const settled = new Set<string>()
  const log: string[] = []

  const sum = (amounts: Iterable<number>): number =>
    Math.round([...amounts].reduce((total, one) => total + one, 0) * 100) / 100
  const sumCash = (place: Parcel['place']): number =>
    sum(parcels.map(parcel => (parcel.place === place && parcel.state === 'delivered' ? parcel.cod : 0)))
  const isReleased = ({ state, cod, place }: Parcel): boolean => state !== 'delivered' || cod === 0 || place !== 'rider'
  /** Returns the amount that an invoice made now would take for each parcel. */
  const listPayable = (): [Parcel, number][] =>
    parcels.flatMap(parcel => {
      const line = parcel.invoice === null && isReleased(parcel) ? parcel.owed : 0
      return line !== 0 || parcel.more !== 0 ? [[parcel, line + parcel.more]] : []
    })

  const dated = [
    'money_lines',
    'ledger_transfers',
    'cash_handovers',
    'cash_transfers',
    'cash_deposits',
    'invoices',
    'corrections',
  ]
  const correct = async (body: object): Promise<number> => {
    const made = await post('/ledger/correction', { reason: 'x', ...body })
    if (made.status !== 200) return made.status
    return (await post(`/ledger/correction/${made.body.data.correction_id}/approve`, {}, second)).status
  }
  let days = 0
  const acts: Record<string, () => Promise<void>> = {
    /** Moves the lines booked since the last fold to a day of their own, and folds it. */
    fold: async () => {
      const day = `$1::date - 100 + ${days++}`
      for (const table of dated) await rows(`update ${table} set booked_on = ${day} where booked_on = $1`, [today])
      await rows(`update corrections set payment_booked_on = ${day} where payment_booked_on = $1`, [today])
      await inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant))
    },
    deliver: async () => {
      const parcel = parcels[below(parcels.length)] as Parcel
      const key = random() < 0.8 ? 'key_13' : 'key_21'
      const isCard = key === 'key_13' && parcel.cod > 0 && random() < 0.3
      const { status } = await move([parcel.waybill], key, {
        ...(key === 'key_13' && { collected_by: 'Nimal' }),
        ...(isCard && { collected: { [parcel.waybill]: { method: 'card' } } }),
      })
      t.equal(status, parcel.state === 'new' ? 200 : 422, `${log.at(-1)} ${parcel.waybill}`)
      if (status !== 200) return
      parcel.state = key === 'key_13' ? 'delivered' : 'returned'
      parcel.place = key !== 'key_13' || parcel.cod === 0 ? 'none' : isCard ? 'clearing' : 'rider'
      parcel.owed = key === 'key_13' ? parcel.cod - charge : -returnFee
      parcel.isTaken = false
    },
    takeBack: async () => {
      const parcel = parcels[below(parcels.length)] as Parcel
      const { status } = await post(`/order/${parcel.waybill}/take-back`, { reason: 'wrong' })
      const isWanted =
        parcel.state !== 'new' &&
        parcel.invoice === null &&
        parcel.corrected === 0 &&
        ['none', 'rider', 'clearing'].includes(parcel.place)
      t.equal(status, isWanted ? 200 : 422, `take back ${parcel.waybill} ${JSON.stringify(parcel)}`)
      if (status === 200) Object.assign(parcel, { state: 'new', place: 'none', owed: 0, isTaken: true })
    },
    transfer: async () => {
      for (const [from, to] of [['Nimal', 'Sunil'] as const, ['Sunil', 'Nimal'] as const]) {
        const { status } = await post('/cash/transfer', { from, to })
        t.equal(status, sumCash('rider') > 0 ? 200 : 422, `transfer to ${to}`)
      }
    },
    handOver: async () => {
      const expected = sumCash('rider') + debt
      const missing = random() < 0.3 ? Math.min(100, expected) : 0
      const counted = expected - missing
      const { status, body } = await post('/cash/handover', { collected_by: 'Nimal', declared: expected, counted })
      t.equal(status, expected > 0 ? 200 : 422, `hand over ${expected}`)
      if (status !== 200) return
      t.equal(body.data.expected, expected)
      if (missing > 0) {
        const settle_as = random() < 0.5 ? 'owed' : 'written_off'
        const settled = await post(`/cash/handover/${body.data.handover_id}/settle`, { settle_as, reason: 'x' }, second)
        t.equal(settled.status, 200)
        other += debt - missing
        debt = settle_as === 'owed' ? missing : 0
      } else {
        other += debt
        debt = 0
      }
      for (const parcel of parcels) if (parcel.place === 'rider') parcel.place = 'office'
    },
    deposit: async () => {
      const amount = sumCash('office') + other
      const { status } = await post('/cash/deposit', {
        amount: Math.max(amount, 0),
        bank_reference: `D${references++}`,
      })
      t.equal(status, amount > 0 ? 200 : 422, `deposit ${amount}`)
      if (status !== 200) return
      other = 0
      for (const parcel of parcels) if (parcel.place === 'office') parcel.place = 'bank'
    },
    clear: async () => {
      const cleared = parcels.filter(({ place, state }) => place === 'clearing' && state === 'delivered')
      const fee = sum([sumCash('clearing') * 0.025])
      if (cleared.length === 0) return
      const body = { waybill_numbers: cleared.map(({ waybill }) => waybill), bank_reference: `C${references++}` }
      const difference = { account: 'acquirer_fees', amount: fee }
      const amount = sum([sumCash('clearing'), -fee])
      t.equal((await post('/cash/deposit', { ...body, amount, difference })).status, 200)
      fees = sum([fees, fee])
      for (const parcel of cleared) parcel.place = 'bank'
    },
    invoice: async () => {
      const due = listPayable()
      const total = sum([ofShop, ...due.map(([, amount]) => amount)])
      const { body } = await post('/invoice', { merchant_id: shop, until: today })
      t.match(body.data[0], { kind: total > 0 ? 'made' : 'nothing_payable', total }, `invoice ${total}`)
      if (total <= 0) return
      const number = body.data[0].id
      live.set(number, { state: 'draft', total })
      ofShop = 0
      for (const [parcel] of due) {
        if (isReleased(parcel) && parcel.owed !== 0) parcel.invoice ??= number
        parcel.more = 0
      }
    },
    advance: async () => {
      const [number, invoice] = [...live].at(below(live.size)) ?? []
      if (!number || !invoice || invoice.state === 'batched') return
      const [path, body, next] = (
        {
          draft: ['submit', {}, 'submitted'],
          submitted: ['approve', {}, 'approved'],
          approved: ['pay', {}, 'deposited'],
        } as const
      )[invoice.state] ?? ['submit', {}, 'none']
      const isWaiting = path === 'approve' && invoice.total <= 0
      const done = path === 'pay' ? pay([number], `P${references++}`, today) : post(`/invoice/${number}/${path}`, body)
      t.equal((await done).status, isWaiting ? 422 : 200)
      if (isWaiting) return
      invoice.state = next
      if (next === 'deposited') live.delete(number) && paid.set(number, invoice.total)
    },
    batch: async () => {
      const due = [...live].flatMap(([number, { state }]) => (state === 'approved' ? number : []))
      const { status, body } = await post('/payout', { all: true })
      t.equal(status, due.length > 0 ? 200 : 422, `batch of ${due}`)
      if (status !== 200) return
      t.strictSame(
        body.data.items.map((item: { invoice_no: string }) => item.invoice_no).toSorted(),
        await listNumbers(due),
      )
      for (const number of due) Object.assign(live.get(number) ?? {}, { state: 'batched' })
      batches.set(body.data.batch_no, { isReleased: false, numbers: due })
      t.equal((await post(`/invoice/${due[0]}/cancel`, { reason: 'x' })).status, 422)
    },
    advanceBatch: async () => {
      const [no, batch] = [...batches].at(below(batches.size)) ?? []
      if (!no || !batch) return
      const act = async (step: string, body: object) =>
        t.equal((await post(`/payout/${no}/${step}`, body, second)).status, 200, `${step} ${no}`)
      const isEarly = random() < 0.4
      const returned = batch.isReleased ? batch.numbers.slice(0, 1) : batch.numbers
      if (!isEarly && batch.isReleased) {
        await act('settle', { bank_reference: `P${references++}`, paid_on: today })
        for (const number of batch.numbers) {
          paid.set(number, live.get(number)?.total ?? 0)
          live.delete(number)
        }
        batches.delete(no)
        return
      }
      if (!isEarly) {
        await staffGet(`/payout/${no}/lines`, { token: second })
        await act('release', {})
        batch.isReleased = true
        return
      }
      if (batch.isReleased) await act('fail', { invoice_nos: await listNumbers(returned), reason: 'x' })
      else await act('cancel', { reason: 'x' })
      for (const number of returned) Object.assign(live.get(number) ?? {}, { state: 'approved' })
      batch.numbers = batch.numbers.filter(number => !returned.includes(number))
      if (batch.numbers.length === 0) batches.delete(no)
    },
    dispute: async () => {
      const parcel = parcels[below(parcels.length)] as Parcel
      const invoice = live.get(parcel.invoice ?? '')
      if (invoice?.state !== 'submitted' || held.has(parcel.waybill)) return
      if (parcel.isCompensated || parcel.isCorrected) return
      const { status } = await request('POST', `/api/public/merchant/invoice/${parcel.invoice}/dispute`, {
        ...{ waybill_numbers: [parcel.waybill], reason: 'x' },
      })
      // Once the dispute is settled, the next invoice has the parcel's amount, and this invoice has none of it.
      const isOff = settled.has(`${parcel.waybill} ${parcel.invoice}`)
      t.equal(status, isOff ? 422 : 200, `dispute ${parcel.waybill}`)
      if (status !== 200) return
      held.set(parcel.waybill, parcel.owed)
      disputedOn.set(parcel.waybill, parcel.invoice as string)
      invoice.total = sum([invoice.total, -parcel.owed])
    },
    settle: async () => {
      const [waybill, amount] = [...held].at(below(held.size)) ?? []
      const parcel = parcels.find(each => each.waybill === waybill)
      if (!parcel || amount === undefined) return
      const adjustment = Math.round(random() * 10_000) / 100
      const body = { waybill_numbers: [waybill], adjustment, reason: 'x' }
      const { status } = await post(`/invoice/${disputedOn.get(parcel.waybill)}/dispute/settle`, body)
      const collected = parcel.state === 'delivered' ? sum([parcel.cod, parcel.corrected]) : 0
      const charges = parcel.state === 'delivered' ? charge : returnFee
      const room = sum([Math.max(parcel.cod, collected), -collected, charges, -parcel.added])
      t.equal(status, adjustment <= room ? 200 : 422, `settle with ${adjustment}: ${JSON.stringify(parcel)}`)
      if (status !== 200) return
      parcel.added = sum([parcel.added, adjustment])
      parcel.settled = sum([parcel.settled, Math.max(adjustment, 0)])
      held.delete(parcel.waybill)
      const invoice = live.get(disputedOn.get(parcel.waybill) as string)
      if (invoice?.state === 'submitted' && invoice.total <= 0) {
        // The invoice waited: it takes the amount itself.
        invoice.total = sum([invoice.total, amount, adjustment])
        parcel.owed = sum([parcel.owed, adjustment])
        return
      }
      settled.add(`${waybill} ${parcel.invoice}`)
      parcel.more = sum([parcel.more, amount, adjustment])
    },
    compensate: async () => {
      const parcel = parcels[below(parcels.length)] as Parcel
      const isValued = random() < 0.5
      const body = { waybill_number: parcel.waybill, amount: 12.34, reason: 'x', delivered_reason: 'x' }
      const { status } = await post('/compensation', { ...body, ...(isValued && { value_reason: 'x' }) })
      // A settlement may have compensated it, too.
      const isWithinCod = sum([parcel.compensation, parcel.settled, 12.34]) <= parcel.cod
      // A correction may have compensated it before.
      const isBefore = parcel.isCompensated || parcel.compensation > 0
      t.equal(status, isBefore || !(isValued || isWithinCod) ? 422 : 200, `compensate ${JSON.stringify(parcel)}`)
      if (status !== 200) return
      Object.assign(parcel, { isCompensated: true, more: sum([parcel.more, 12.34]) })
      parcel.compensation = sum([parcel.compensation, 12.34])
    },
    correctParcel: async () => {
      const parcel = parcels[below(parcels.length)] as Parcel
      const isCollection = random() < 0.7
      const delivered = parcel.state === 'delivered'
      const before = isCollection ? sum([parcel.cod, parcel.corrected]) : parcel.compensation
      // Half of the corrections take back an earlier one.
      const back = isCollection ? -parcel.corrected : -parcel.compensation
      const amount = random() < 0.5 && back !== 0 ? back : Math.round((random() - 0.4) * 100_000) / 100
      const kind = isCollection ? 'collection' : 'compensation'
      const isValued = !isCollection && random() < 0.5
      const status = await correct({
        ...{ kind, waybill_number: parcel.waybill, amount },
        ...(isValued && { value_reason: 'x' }),
      })
      const after = sum([before, amount])
      const isWithinCod = sum([after, parcel.settled]) <= parcel.cod
      const isAllowed = isCollection ? delivered : amount < 0 || isValued || isWithinCod
      const isRight = amount !== 0 && after >= 0 && isAllowed
      t.equal(status, isRight ? 200 : 422, `${kind} of ${amount} ${JSON.stringify(parcel)}`)
      if (status !== 200) return
      parcel[isCollection ? 'corrected' : 'compensation'] = sum([
        parcel[isCollection ? 'corrected' : 'compensation'],
        amount,
      ])
      parcel.more = sum([parcel.more, amount])
      parcel.isCorrected = true
    },
    correctShop: async () => {
      const kind = ['write_off', 'payment_received', 'opening_balance'][below(3)]
      const amount = Math.round((random() - 0.5) * 200_000) / 100 || 1
      t.equal(await correct({ kind, merchant_id: shop, amount, bank_reference: 'x' }), 200)
      ofShop = sum([ofShop, amount])
    },
    returnTransfer: async () => {
      const [number, total] = [...paid].at(below(paid.size)) ?? []
      if (!number || total === undefined) return
      t.equal(await correct({ kind: 'returned_transfer', invoice_no: number }), 200)
      paid.delete(number)
      live.set(number, { state: 'approved', total })
    },
  }

  const drafted = () => sum([...live.values()].map(({ state, total }) => (state === 'draft' ? total : 0)))
  const expectBalance = async (): Promise<void> => {
    const { data } = (await get('/balance')).body
    const open = sum([ofShop, ...parcels.map(({ invoice, owed, more }) => (invoice === null ? owed : 0) + more)])
    const waiting = sum([...live.values()].map(({ total }) => total))
    const payable_now = sum([ofShop, ...listPayable().map(([, amount]) => amount), drafted()])
    const wanted = { waiting: sum([waiting, -drafted()]), held: sum(held.values()), payable_now }
    t.match(data, { ...wanted, balance: sum([open, waiting, wanted.held]) }, log.join(' '))
    const { office, people, clearing } = (await staffGet('/cash')).body.data
    t.match(clearing, { amount: sumCash('clearing') }, log.join(' '))
    t.match(office, { amount: sum([sumCash('office'), other]) }, log.join(' '))
    const holds = sumCash('rider') > 0 || debt > 0
    t.match(people, holds ? [{ name: 'Nimal', amount: sumCash('rider'), debt }] : [], log.join(' '))
    if (!holds) t.strictSame(people, [])
  }
  const names = Object.keys(acts)
  for (let step = 0; step < steps; step++) {
    const name = names[below(names.length)] as string
    log.push(name)
    await acts[name]?.()
    if (step % 10 === 9 || !t.passing()) await expectBalance()
    if (!t.passing()) break
  }
  const check = await checkLedger(pool, tenant)
  t.strictSame(listFindings(check), [])

  // Several people act at once: their results vary, but nothing is lost or doubled. The only 5xx allowed is 503.
  const storm = await Promise.all(
    Array.from({ length: 60 }, (_, n) => {
      const { waybill } = parcels[below(parcels.length)] as Parcel
      const all = [
        () => post(`/order/${waybill}/take-back`, { reason: 'x' }),
        () => move([waybill], 'key_13', { collected_by: 'Nimal' }),
        () =>
          post('/cash/handover', {
            collected_by: 'Nimal',
            declared: sumCash('rider') + debt,
            counted: sumCash('rider') + debt,
          }),
        () => post('/invoice', { all: true, until: today }),
        () => post('/invoice', { merchant_id: shop, until: today }),
        () => post('/compensation', { waybill_number: waybill, amount: 1, reason: 'x', delivered_reason: 'x' }),
        async () => ({ status: await correct({ kind: 'collection', waybill_number: waybill, amount: -1 }) }),
        async () => ({ status: await correct({ kind: 'write_off', merchant_id: shop, amount: 1 }) }),
      ]
      return all[n % all.length]?.()
    }),
  )
  const failed = storm.filter(response => response && response.status >= 500 && response.status !== 503)
  t.strictSame(failed, [])
  t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
  t.strictSame(await findContradictions(fixture, '2020-01-01', today), [])
  const closing = async (account: string): Promise<number> =>
    (await staffGet(`/ledger?account=${account}&from=${today}&to=${today}`)).body.data?.closing ?? 0
  const { balance } = (await get('/balance')).body.data
  t.equal(balance, sum([-(await closing(`merchant:${shop}`)), -(await closing(`held:${shop}`))]), 'the ledger agrees')
  t.equal(await closing('acquirer_fees'), fees)
})
