import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { type Acted, addAction, type Call, defineBody } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { nullable } from './fields.ts'

const states = ['waiting', 'approved', 'rejected'] as const
const ListQuery = listQuery(cursorFields, { state: oneOf(states, 'Default: all.') })
const cursors = listCursor(/^\d{1,18}$/)
const steps = [
  ['approve', 'approved', 'Approve %, which books it; not by whoever made it'],
  ['reject', 'rejected', 'Reject %, which then changes nothing'],
] as const

/** Describes who made and decided what needs a second person. */
export const decidedFields = {
  made_by: Type.String({ examples: ['Chamari'] }),
  made_at: Type.String(),
  state: Type.Union(
    states.map(state => Type.Literal(state)),
    { examples: ['waiting'] },
  ),
  decided_by: nullable('Who approved or rejected it; null: nobody yet, or nobody had to.'),
  decided_at: nullable(),
  booked_on: nullable('The day of its entry; null: it is not approved.'),
}

interface Decided<Id extends string, Row extends TObject> {
  readonly path: string
  /** Names the rows in operations, such as listCorrections and approveCorrection. */
  readonly names: readonly [one: string, many: string]
  /** Names one row in a sentence. */
  readonly called: string
  readonly noun: 'bank_entry' | 'correction'
  readonly id: Id
  readonly data: Row
  readonly summary: string
  readonly message: string
  readonly listSql: string
  readonly decide: (tx: Tx, to: 'approved' | 'rejected', call: Call<object>) => Promise<Acted<NoInfer<Static<Row>>>>
}

/** Adds routes that list what needs a second person, newest first, and by which that person decides. */
export const addDecided = <Id extends string, Row extends TObject>(
  app: FastifyInstance,
  pool: pg.Pool,
  { path, names: [one, many], called, noun, id, data, summary, message, listSql, decide }: Decided<Id, Row>,
): void => {
  const listing = { querystring: ListQuery.schema, response: { 200: PageOf(data, many) } }
  app.get(
    path,
    { schema: { operationId: `list${many}`, summary, ...listing } },
    async ({ staff: { tenant }, query }) => {
      const { state = null } = ListQuery.read(query as object)
      const { after, limit } = cursors.read(query as object)
      const about = { name: `list${many}`, text: listSql, values: [tenant, state, after[0] ?? null, limit + 1] }
      const rows = await readInTenant<Record<Id, number>>(pool, tenant, about)
      return cursors.toPage(rows, limit, row => [String(row[id])])
    },
  )
  const params = Type.Object({ [id]: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) })
  const body = defineBody(`${one}Decision`, {})
  for (const [step, to, does] of steps)
    addAction(app, pool, {
      ...{ params, body, data, message },
      path: `${path}/:${id}/${step}`,
      operationId: `${step}${one}`,
      action: `${noun}.${to}`,
      summary: does.replace('%', called),
      act: (tx, call) => decide(tx, to, call),
    })
}
