import t, { type Test } from 'tap'
import { statusTable } from '../../../../test/merchant-page.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { tenantFile, withCards } from '../../test/tenant.ts'
import { applyTenant } from '../provisioning/apply.ts'
import { checkFile } from '../provisioning/check-file.ts'
import type { TenantFile } from '../provisioning/tenant-file.ts'
import { standardStatuses } from './statuses.ts'

type Entries = NonNullable<TenantFile['statuses']>
const fileOf = (id: string, statuses?: Entries): TenantFile => ({
  ...withCards(tenantFile({ id })),
  ...(statuses && { statuses }),
})

/** Defines a set of four statuses: a parcel goes straight to the recipient. */
const shortSet = [
  { key: 'key_1', name: 'Draft', moves: ['key_2'] },
  { key: 'key_2', name: 'Confirmed', color: 'primary', moves: ['key_3', 'gone'] },
  { key: 'key_3', name: 'Cancelled', color: 'danger', moves: [] },
  { key: 'gone', name: 'Handed over', color: 'success', description: 'Done.', moves: [] },
]

t.test('the standard set is the table of the merchant API', async t => {
  t.strictSame(
    standardStatuses.map(({ key, name, color, moves }) => ({ key, name, color, moves })),
    statusTable.map(([key, name, color, moves]) => ({
      key: `key_${key}`,
      name,
      color,
      moves: moves.map(to => `key_${to}`),
    })),
  )
})

const everything = `select tenant_id, status_key, name, description, color, is_merchant_status, position,
  array(select to_key from status_moves m where m.tenant_id = s.tenant_id and m.from_key = s.status_key
    order by length(to_key), to_key) as moves from statuses s order by tenant_id, position`

/** Builds a tenant; `apply` returns the changes as lines, or the errors. */
const open = async (t: Test) => {
  const fixture = await tenantFixture(t)
  const apply = async (statuses?: Entries, dryRun = false): Promise<unknown> => {
    const checked = checkFile(fileOf(fixture.tenant, statuses))
    const result = checked.kind === 'refused' ? checked : await applyTenant(fixture.pool, checked.file, dryRun)
    return result.kind === 'applied'
      ? result.changes.map(({ kind, id, change }) => `${kind} ${id} ${change}`)
      : result.errors
  }
  const set = () => fixture.rows(everything)
  return { ...fixture, apply, set }
}

t.test('names, colours and descriptions change alone, and stay when the file omits them', async t => {
  const { apply, set } = await open(t)
  const before = await set()
  const changes = [
    { key: 'key_13', name: 'Handed over', color: 'primary' },
    { key: 'key_5', description: 'Soon.' },
  ]
  const lines = ['status key_5 changed', 'status key_13 changed']
  t.strictSame(await apply(changes, true), lines)
  t.strictSame(await set(), before)
  t.strictSame(await apply(changes), lines)
  t.strictSame(await apply(changes), [])
  t.strictSame(await apply(), [])
  t.strictSame(
    await set(),
    before.map(row => {
      if (row.status_key === 'key_13') return { ...row, name: 'Handed over', color: 'primary' }
      return row.status_key === 'key_5' ? { ...row, description: 'Soon.' } : row
    }),
  )
})

t.test('a whole set replaces the existing one, and applies to the next move', async t => {
  const { tenant, apply, set, make, move, rows } = await open(t)
  await make(['DM00000001'], { initial_status_key: 'key_2' })
  const version = async () =>
    Number((await rows('select version from tenants where tenant_id = $1', [tenant]))[0].version)
  const before = await version()
  const changes = (await apply(shortSet)) as string[]
  t.equal(await version(), before + 1)
  t.match(changes, ['status gone added', 'status key_1 changed'])
  t.ok(changes.includes('status key_21 removed'))
  t.ok(changes.includes('move key_2 / gone added'))
  t.ok(changes.includes('move key_2 / key_4 removed'))
  t.notOk(changes.includes('move key_2 / key_3 added'))
  t.strictSame(await apply(shortSet), [])
  t.strictSame(
    (await set()).map(({ status_key, color, moves }) => [status_key, color, moves]),
    [
      ['key_1', 'secondary', ['key_2']],
      ['key_2', 'primary', ['gone', 'key_3']],
      ['key_3', 'danger', []],
      ['gone', 'success', []],
    ],
  )
  const refused = await move(['DM00000001'], 'key_2')
  t.strictSame(refused.body.errors['waybill_numbers.0'], [
    'DM00000001 is key_2 Confirmed: it may move to key_3 Cancelled, gone Handed over.',
  ])
  t.strictSame((await move(['DM00000001'], 'key_5')).body.errors.status_key, [
    'The selected status key is invalid. It may be key_1, key_2, key_3, gone.',
  ])
  t.equal((await move(['DM00000001'], 'gone')).status, 200)
})

t.test('refuses the whole file for a set without a status that orders are in', async t => {
  const { apply, set, make, move } = await open(t)
  await make(['DM00000001', 'DM00000002'], { initial_status_key: 'key_2' })
  await move(['DM00000001'], 'key_5')
  await move(['DM00000002'], 'key_9')
  const before = await set()
  t.strictSame(await apply(shortSet), { statuses: ['The set lacks key_5, key_9: orders have these statuses.'] })
  t.strictSame(await set(), before)
})

t.test('a change of the set waits for a move in progress', async t => {
  const { apply, make, move, rows } = await open(t)
  await make(
    Array.from({ length: 10 }, (_, index) => `DM0000010${index}`),
    { initial_status_key: 'key_2' },
  )
  const moves = Array.from({ length: 10 }, (_, index) => move([`DM0000010${index}`], 'key_5'))
  const applied = apply(shortSet)
  const [errors, ...responses] = await Promise.all([applied, ...moves])
  const isApplied = Array.isArray(errors)
  const moved = responses.filter(({ status }) => status === 200)
  t.strictSame(
    await rows(`select count(*)::int from orders left join statuses using (tenant_id, status_key) where name is null`),
    [{ count: 0 }],
    `the set was ${isApplied ? 'applied' : 'refused'}, ${moved.length} moved`,
  )
})

const mistakes: [string, Entries, Record<string, string[]>][] = [
  ['nothing', [], { statuses: ['The statuses field is required.'] }],
  ['a status that is not there', [{ key: 'key_1' }, { key: 'key_99', name: 'New' }], {}],
  [
    'a key twice',
    [{ key: 'key_5' }, { key: 'key_5', name: 'B' }],
    { 'statuses.1.key': ['The status key key_5 appears twice.'] },
  ],
  [
    'a colour that is not a name',
    [{ key: 'key_5', color: '#ff0000' }],
    { 'statuses.0.color': ['The color field must be the name of a colour such as success.'] },
  ],
  [
    'a move to nowhere, and one twice',
    shortSet.with(0, { key: 'key_1', name: 'Draft', moves: ['key_4', 'key_2', 'key_2'] }),
    {
      'statuses.0.moves.0': ['There is no status key_4 in this set.'],
      'statuses.0.moves.2': ['The move to key_2 appears twice.'],
    },
  ],
  [
    'a set without the statuses that requests rely on',
    [{ key: 'key_2', name: 'Confirmed', moves: [] }],
    { statuses: ["The set lacks key_1 and key_3, which merchants' requests rely on."] },
  ],
  [
    'a set with a status that has no name or no moves',
    [...shortSet, { key: 'key_7', moves: [] }, { key: 'key_8', name: 'Eight' }],
    {
      'statuses.4.name': ['The name field is required.'],
      'statuses.5.moves': ['Give every status its moves for a new set, or none for new names.'],
    },
  ],
]

const early = 'the COD of orders there can be edited, and they can be cancelled'
const again = 'books a delivery again, and a parcel is booked once'
const own = (...entries: Entries): Entries => [
  ...shortSet.slice(0, 3).map(each => ({ ...each, moves: each.key === 'key_2' ? entries.map(({ key }) => key) : [] })),
  ...entries,
]
const partly = { key: 'key_14', name: 'Partly' }
const delivered = { key: 'key_13', name: 'Delivered', moves: [] }

const flaws: [string, Entries, Record<string, string[]>][] = [
  [
    'a delivery after a delivery',
    own({ ...partly, moves: ['key_13'] }, delivered),
    { 'statuses.3.moves.0': [`key_14 books a delivery, so no order may move on to key_13: key_13 ${again}.`] },
  ],
  [
    'a delivery after a delivery, by way of another status',
    own({ ...partly, moves: ['depot'] }, { key: 'depot', name: 'Depot', moves: ['key_14'] }),
    {
      'statuses.3.moves.0': [
        `key_14 books a delivery, so no order may move on to depot, which leads to key_14: key_14 ${again}.`,
      ],
    },
  ],
  [
    'a booked order that may be edited or cancelled',
    own({ ...partly, moves: ['key_2', 'key_3'] }),
    {
      'statuses.3.moves.0': [`key_14 books a delivery, so no order may move on to key_2: ${early}.`],
      'statuses.3.moves.1': ['key_14 books a delivery, so no order may move on to key_3: orders there are cancelled.'],
    },
  ],
  [
    'a returned order that may be edited',
    own({ key: 'back', name: 'Back', books: 'return', moves: ['key_1'] }),
    { 'statuses.3.moves.0': [`back books a return, so no order may move on to key_1: ${early}.`] },
  ],
  [
    'a return after a return',
    own({ key: 'back', name: 'Back', books: 'return', moves: ['key_21'] }, { key: 'key_21', name: 'Home', moves: [] }),
    {
      'statuses.3.moves.0': [
        'back books a return, so no order may move on to key_21: key_21 books a return again, and a parcel is booked once.',
      ],
    },
  ],
  [
    'money for a status that merchants set, or in which orders are edited',
    [
      { key: 'key_1', books: 'partial_delivery' },
      { key: 'key_2', books: 'delivery' },
      { key: 'key_3', books: 'delivery' },
      { key: 'key_5', books: 'return' },
    ],
    {
      'statuses.0.books': [`key_1 books a delivery, which it may not: ${early}.`],
      'statuses.1.books': [`key_2 books a delivery, which it may not: ${early}.`],
      'statuses.2.books': ['key_3 books a delivery, which it may not: orders there are cancelled.'],
      'statuses.3.books': [`key_5 books a return, which it may not: ${early}.`],
    },
  ],
  [
    'a booking that precedes the deliveries of the standard set',
    [{ key: 'key_12', books: 'delivery' }],
    {
      'statuses.0.books': [
        `key_12 books a delivery, so no order may move on to key_13: key_13 ${again}.`,
        `key_12 books a delivery, so no order may move on to key_14: key_14 ${again}.`,
        `key_12 books a delivery, so no order may move on to key_15, which leads to key_12: key_12 ${again}.`,
      ],
    },
  ],
]

t.test('refuses a set in which money would be dropped, repeated or edited', async t => {
  const { apply, set } = await open(t)
  const before = await set()
  for (const [what, statuses, errors] of flaws) t.strictSame(await apply(statuses), errors, what)
  t.strictSame(await set(), before)
  const returned = { key: 'key_21', name: 'Home', moves: [] }
  t.ok(Array.isArray(await apply(own({ ...partly, moves: ['key_21'] }, returned))), 'the rest may come back')
})

t.test('warns of a stored set with such a move, and applies the rest of the file', async t => {
  const { tenant, rows, pool } = await open(t)
  await rows(`insert into status_moves (tenant_id, from_key, to_key) values ($1, 'key_14', 'key_2')`, [tenant])
  const result = await applyTenant(pool, tenantFile({ id: tenant }), false)
  t.match(result, {
    kind: 'applied',
    warnings: [
      /no rate to Jaffna/,
      `the set of statuses has a flaw: key_14 books a delivery, so no order may move on to key_2: ${early}.`,
    ],
  })
})

t.test('an error is reported under its path', async t => {
  const { apply } = await open(t)
  for (const [what, statuses, errors] of mistakes) {
    if (what === 'a status that is not there')
      t.match(await apply(statuses), {
        'statuses.1.key': [/^There is no status key_99, only key_1, .*; for a new set, give every status its moves\.$/],
      })
    else t.strictSame(await apply(statuses), errors, what)
  }
})
