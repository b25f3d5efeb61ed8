import type { ordersFixture } from './orders-fixture.ts'

type Fixture = Pick<Awaited<ReturnType<typeof ordersFixture>>, 'send' | 'rows'> & {
  readonly staffOf: (name: string) => Promise<string>
  readonly tenant?: string
}

/**
 * Gives each merchant of the tenant a bank account that may be paid. Returns a function that pays invoices in a batch
 * of their own, made and released by two people; it returns the response to the settlement.
 */
export const preparePayer = async ({ send, rows, staffOf, tenant = 'demo' }: Fixture) => {
  const [maker, second] = [await staffOf('Maker'), await staffOf('Second')]
  const post = (path: string, body: object, token = maker) => send('POST', `/api/staff${path}`, body, { token })
  const details = { bank: 'Bank of Ceylon', holder: 'Lanka Shoes', number: '0071234567' }
  for (const { id } of await rows('select merchant_id as id from merchants where tenant_id = $1', [tenant])) {
    await post(`/merchant/${id}/bank-account`, details)
    await post(`/merchant/${id}/bank-account/confirm`, { version: 1, number: details.number }, second)
  }
  await rows(`update bank_accounts set changed_at = '2026-01-01'`)
  return async (invoice_nos: string[], bank_reference: string, paid_on: string) => {
    const made = await post('/payout', { invoice_nos })
    if (made.status !== 200) return made
    // A played month pays in the past.
    const { batch_no } = made.body.data
    await rows('update payout_batches set made_at = least(made_at, $1::date) where batch_no = $2', [paid_on, batch_no])
    const path = `/payout/${batch_no}`
    await send('GET', `/api/staff${path}/lines`, undefined, { token: second })
    await post(`${path}/release`, {}, second)
    return post(`${path}/settle`, { bank_reference, paid_on })
  }
}
