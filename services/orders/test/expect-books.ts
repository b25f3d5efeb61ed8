import { addAmounts } from '@courier/shared/currency.ts'
import type { ordersFixture } from './orders-fixture.ts'

type Fixture = Pick<Awaited<ReturnType<typeof ordersFixture>>, 'app' | 'staffToken' | 'staffGet' | 'rows'> & {
  readonly tenant?: string
}
// biome-ignore lint/suspicious/noExplicitAny: rows of any list
type Row = Record<string, any>

/** Reads all pages of a list of books. `rowsOf` finds the rows in `data`. */
export const readPages = async (
  { staffGet }: Pick<Fixture, 'staffGet'>,
  path: string,
  { limit = 7, rowsOf = (data: Row): Row[] => data as Row[] } = {},
): Promise<Row[]> => {
  const found: Row[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await staffGet(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}&cursor=${cursor}`)
    if (status !== 200) throw new Error(JSON.stringify(body))
    found.push(...rowsOf(body.data))
    if (body.next_cursor === null) return found
    cursor = body.next_cursor
  }
}

/** Reads the lines of a CSV file. */
export const readCsv = async (
  { app, staffToken, tenant = 'demo' }: Pick<Fixture, 'app' | 'staffToken' | 'tenant'>,
  path: string,
) => {
  const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': tenant }
  const { statusCode, payload } = await app.inject({ url: `/api/staff${path}&format=csv`, headers })
  if (statusCode !== 200) throw new Error(payload)
  return payload.split('\r\n').slice(0, -1)
}

/**
 * Reads the books from one day to another in every form, and lists where they contradict each other: the journal, the
 * trial balance, and the merchants' statements and balances. `from` is before the first entry.
 */
export const findContradictions = async (fixture: Fixture, from: string, to: string): Promise<string[]> => {
  const { staffGet, rows } = fixture
  const found: string[] = []
  const expect = (what: string, seen: unknown, wanted: unknown) =>
    JSON.stringify(seen) === JSON.stringify(wanted) ||
    found.push(`${what}: ${JSON.stringify(seen)} is not ${JSON.stringify(wanted)}`)

  const trial = (await staffGet(`/ledger/trial-balance?day=${to}&limit=1`)).body.data
  expect('debits are credits', trial.debit, trial.credit)
  const accounts = await readPages(fixture, `/ledger/trial-balance?day=${to}`, { rowsOf: data => data.accounts })
  expect('all debits', addAmounts(accounts.map(({ debit }) => debit)), trial.debit)
  const balances = new Map(accounts.map(({ account, debit, credit }) => [account, addAmounts([debit, -credit])]))

  const journal = await readPages(fixture, `/ledger/journal?from=${from}&to=${to}`)
  const moved = Map.groupBy(
    journal.flatMap(({ debit, credit, amount }) => [
      { account: debit, amount },
      { account: credit, amount: -amount },
    ]),
    ({ account }) => account,
  )
  for (const [account, entries] of moved) {
    const sum = addAmounts(entries.map(({ amount }) => amount))
    expect(`the journal of ${account}`, sum, balances.get(account) ?? 0)
    const own = await readPages(fixture, `/ledger/journal?from=${from}&to=${to}&account=${encodeURIComponent(account)}`)
    expect(`the entries of ${account}`, own.length, entries.length)
  }
  for (const account of balances.keys()) if (!moved.has(account)) found.push(`${account} has no entry`)
  const csv = await readCsv(fixture, `/ledger/journal?from=${from}&to=${to}`)
  expect('the lines of the CSV file', csv.length - 1, journal.length)

  for (const { merchant_id: id } of await rows('select merchant_id::float8 from merchants')) {
    const path = `/merchant/${id}/account?from=${from}&to=${to}`
    const lines = await readPages(fixture, path, { rowsOf: data => data.lines })
    const { opening, closing } = (await staffGet(`${path}&limit=1`)).body.data
    const owed = -(balances.get(`merchant:${id}`) ?? 0) + 0
    expect(`the closing balance of ${id}`, closing, owed)
    expect(`the lines of ${id}`, addAmounts([opening, ...lines.map(({ amount }) => amount)]), closing)
    expect(`the last balance of ${id}`, lines.at(-1)?.balance ?? opening, closing)
    for (const { kind, amount, ...line } of lines) {
      if (kind === 'other') found.push(`nothing explains ${amount} of ${id}`)
      const { collected, charges, tax, withholding, other, paid } = line
      expect(`a line of ${id}`, addAmounts([collected, -charges, -tax, -withholding, other, -paid]), amount)
    }
    const { balance } = (await staffGet(`/merchant/${id}/balance`)).body.data
    const held = -(balances.get(`held:${id}`) ?? 0)
    expect(`the balance of ${id}`, balance, addAmounts([owed, held]))
  }
  return found
}
