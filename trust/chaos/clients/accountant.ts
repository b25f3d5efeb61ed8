import type { Call } from '../history.ts'
import { pick } from '../plan.ts'
import { type Act, type Client, createRequester } from './client.ts'

interface Invoice {
  readonly id: string
  readonly state: string
}

/**
 * Acts as staff with the role accounts: takes the cash of parcels, banks it, makes invoices and moves them on until
 * they are paid, in batches that a second person releases, or cancelled.
 */
export const accountant = (client: Client): Act => {
  const { who, chance, known, bed } = client
  const { call, insist } = createRequester(client, 'staff', '/api/staff')
  const second = createRequester(client, 'second', '/api/staff')
  const today = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Asia/Colombo' }).format()
  const act = (what: string, name: string, path: string, body: object): Promise<Call> =>
    insist(what, name, path, { parts: ['money'], body, key: name })

  const handOver = async (name: string) => {
    const one = known.find(({ status }) => status === 'key_13')
    if (!one) return
    const { data } = await call('read', `${name}-read`, `/order/${one.waybill}`)
    if (!data) return
    const sum = (data as { cod: number }).cod
    const collected = { collected_by: 'Ruwan', waybill_numbers: [one.waybill], declared: sum, counted: sum }
    await act('hand over', name, '/cash/handover', { ...collected, note: name })
    one.status = 'handed over'
  }
  const deposit = async (name: string) => {
    const { data } = await call('read', `${name}-read`, '/cash')
    if (data)
      await act('deposit', name, '/cash/deposit', { amount: (data as Cash).office.amount, bank_reference: name })
  }
  const makeInvoices = (name: string) =>
    insist('invoice', name, '/invoice', { body: { all: true, until: today }, key: name })
  const decide = async (name: string) => {
    const { data } = await call('read', `${name}-read`, '/invoice?limit=20')
    const invoice = pick(
      ((data ?? []) as Invoice[]).filter(({ state }) => state in steps || state === 'approved'),
      chance,
    )
    if (!invoice) return
    const path = `/invoice/${invoice.id}`
    const step = chance() < 0.2 ? 'cancel' : steps[invoice.state]
    if (!step) return pay(name)
    const body = step === 'cancel' ? { reason: name } : {}
    await insist(`${step} an invoice`, name, `${path}/${step}`, { body, key: name })
  }
  /** Gives the shop a bank account that may be paid at once. */
  const openAccount = async (name: string, merchant: string) => {
    const path = `/merchant/${merchant}/bank-account`
    const details = { bank: 'Bank of Ceylon', holder: 'Lanka Shoes', number: '0071234567' }
    await insist('change an account', name, path, { body: details, key: name })
    const { data } = await call('read', `${name}-read`, path)
    const { version } = (data ?? { version: 1 }) as { version: number }
    await second.insist('confirm an account', name, `${path}/confirm`, { body: { version, number: details.number } })
    await bed.courier.rows('orders', `update bank_accounts set changed_at = changed_at - interval '48 hours'`)
  }
  const pay = async (name: string) => {
    const { data } = await call('read', `${name}-read`, '/payout')
    if (!data) return
    const { batches, left_out, due } = data as PayRun
    const lacking = left_out.find(({ why }) => why.includes('no bank account'))
    if (lacking) {
      const [row] = await bed.courier.rows('orders', 'select merchant_id from invoices where invoice_no = $1', [
        lacking.invoice_no,
      ])
      return openAccount(name, String(row?.merchant_id))
    }
    const batch = batches.find(({ state }) => state === 'made' || state === 'released')
    if (!batch) return due.length > 0 && insist('batch', name, '/payout', { body: { all: true }, key: name })
    const path = `/payout/${batch.batch_no}`
    if (batch.state === 'made') {
      await second.call('read', `${name}-lines`, `${path}/lines`)
      return second.insist('release', name, `${path}/release`, { body: {}, key: name })
    }
    await act('pay', name, `${path}/settle`, { bank_reference: name, paid_on: '2026-02-19' })
  }
  return n => pick([handOver, handOver, handOver, deposit, makeInvoices, decide, decide, pay], chance)(`${who}-${n}`)
}

interface Cash {
  readonly office: { readonly amount: number }
}

interface PayRun {
  readonly due: readonly object[]
  readonly left_out: readonly { readonly invoice_no: string; readonly why: string }[]
  readonly batches: readonly { readonly batch_no: string; readonly state: string }[]
}

const steps: Readonly<Record<string, string>> = { draft: 'submit', submitted: 'approve' }
