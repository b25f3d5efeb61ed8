import type { Call } from '../history.ts'
import { pick } from '../plan.ts'
import { type Act, type Client, createRequester } from './client.ts'

interface Invoice {
  readonly invoice_no: string
  readonly state: string
}

/**
 * Acts as staff with the role accounts: takes the cash of parcels, banks it, makes invoices and moves them on until
 * they are paid or cancelled.
 */
export const accountant = (client: Client): Act => {
  const { who, chance, known } = client
  const { call, insist } = createRequester(client, 'staff', '/api/staff')
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
      ((data ?? []) as Invoice[]).filter(({ state }) => state in steps),
      chance,
    )
    if (!invoice) return
    const path = `/invoice/${invoice.invoice_no}`
    const step = chance() < 0.2 ? 'cancel' : steps[invoice.state]
    if (step === 'deposit') return act('pay', name, `${path}/deposit`, { bank_reference: name, paid_on: '2026-02-19' })
    const body = step === 'cancel' ? { reason: name } : {}
    await insist(`${step} an invoice`, name, `${path}/${step}`, { body, key: name })
  }
  return n => pick([handOver, handOver, handOver, deposit, makeInvoices, decide, decide], chance)(`${who}-${n}`)
}

interface Cash {
  readonly office: { readonly amount: number }
}

const steps: Readonly<Record<string, string>> = { draft: 'submit', submitted: 'approve', approved: 'deposit' }
