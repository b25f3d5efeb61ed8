import { readStaffKey } from '@courier/shared/access/staff.ts'
import { IdempotentHeaders, keyRefused, markReplayed, readIdempotencyKey } from '@courier/shared/edge/idempotency.ts'
import { errorResponses, type FieldErrors, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import { type Action, type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, retryDeadlocks } from '@courier/shared/postgres/database.ts'
import { claimKey, insertKey } from '@courier/shared/postgres/idempotency.ts'
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import type { Person } from '../access/queries.ts'
import type { Tables, Tx } from '../database/tables.ts'
import { keepStatusSet } from '../statuses/status-queries.ts'
import { refuseFineAmounts } from './amounts.ts'

/** Describes a request of staff or of a merchant that changes something. */
export interface Call<Body> {
  readonly tenant: string
  /** null: staff. */
  readonly merchantId: string | null
  /** null: staff, a program or the account of the merchant. */
  readonly person: Person | null
  readonly by: Actor
  /** Holds the parameter of the path; empty if it has none. */
  readonly id: string
  /** Holds the body, with texts trimmed and each entry of a list once. */
  readonly body: Body
}

interface Refused {
  readonly kind: 'refused'
  readonly errors: FieldErrors
}

export type Acted<Data> =
  /** The audit names `objects`; without any, the request changed nothing. */
  | { kind: 'done'; data: Data; objects: readonly string[] }
  | Refused
  /** There is no such object: `what` names its kind, such as a waybill. */
  | { kind: 'unknown'; what: string }

export const refuse = (path: string, sentence: string): Refused => ({ kind: 'refused', errors: { [path]: [sentence] } })

/** Refuses a request with errors; undefined: there are none. */
export const refuseAny = (errors: FieldErrors): Refused | undefined =>
  Object.keys(errors).length > 0 ? { kind: 'refused', errors } : undefined

/** Lists the errors of a body's waybills. `check` returns the error of a waybill; undefined and false: it has none. */
export const checkEach = (
  numbers: readonly string[] = [],
  check: (number: string) => string | false | undefined,
  field = 'waybill_numbers',
): FieldErrors =>
  Object.fromEntries(
    numbers.flatMap((number, index) => {
      const sentence = check(number)
      return sentence ? [[`${field}.${index}`, [sentence]]] : []
    }),
  )

interface ActionRoute<Body extends TObject, Data extends TSchema> {
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly params?: TObject
  readonly body: Body
  readonly message: string
  /** Replaces the message of a result that it finds empty. */
  readonly describeNothing?: (data: Static<Data>) => string | undefined
  readonly data: Data
  readonly action: Action
  readonly act: (tx: Tx, call: Call<Static<Body>>) => Promise<Acted<NoInfer<Static<Data>>>>
  /** Runs after the commit. */
  readonly onDone?: ((tenant: string) => void) | undefined
}

/** Defines the body of a request: these fields and no others. */
export const defineBody = <Fields extends TProperties>(title: string, fields: Fields) =>
  Type.Object(fields, { title, additionalProperties: false })

/** Fits 1,000 waybills with every character escaped. A body without a list fits the server's own limit. */
export const maxListBytes = 512_000

/** Adds a POST that acts in one transaction, once for its Idempotency-Key, and writes its audit entries. */
export const addAction = <Body extends TObject, Data extends TSchema>(
  app: FastifyInstance,
  pool: pg.Pool,
  route: ActionRoute<Body, Data>,
): void => {
  const { path, action, message, describeNothing, data, act, onDone, ...about } = route
  const { operationId, body: bodySchema } = about
  const done = Type.Object({ message: Type.String({ examples: [message] }), data })
  const schema = { ...about, headers: IdempotentHeaders, response: { 200: done, ...errorResponses(404) } }
  const hasList = Object.values(bodySchema.properties).some(({ type }) => type === 'array')
  app.post(path, { ...(hasList && { bodyLimit: maxListBytes }), schema }, async (request, reply) => {
    const { tenant, actor: by } = request.merchant ?? request.staff
    const { merchantId = null, person = null } = request.merchant ?? {}
    const given = request.body as Static<Body>
    refuseValues(bodySchema.properties, given)
    const [id = ''] = Object.values(request.params as Record<string, string>)
    // Postgres refuses U+0000, which the parameter of the path may contain.
    const scope = [merchantId ?? 'staff', operationId, ...(id ? [encodeURIComponent(id)] : [])].join(' ')
    const key = merchantId === null ? readStaffKey(request, scope) : readIdempotencyKey(request, scope)
    const call = { tenant, merchantId, person, by, id, body: tidy(given) }
    const attempt = () =>
      inTenant<Tables, Acted<unknown> | { kind: 'running' | 'other_body' | 'replayed'; data?: unknown }>(
        pool,
        tenant,
        async tx => {
          const claim = key && (await claimKey(tx, tenant, key))
          if (claim?.kind === 'finished') return { kind: 'replayed', data: JSON.parse(claim.result[0] ?? 'null') }
          if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
          await keepStatusSet(tx, tenant)
          const tooFine = await refuseFineAmounts(tx, tenant, bodySchema.properties, given)
          if (tooFine) return { kind: 'refused', errors: tooFine }
          const acted = await act(tx, call)
          if (acted.kind !== 'done') return acted
          if (acted.objects.length > 0) await audit(tx, tenant, by, action, acted.objects)
          if (key) await insertKey(tx, tenant, key, [JSON.stringify(acted.data)])
          return acted
        },
        { keeps: ({ kind }) => kind === 'done' },
      )
    // Two actions may lock the same rows in different orders.
    const result = await retryDeadlocks(attempt)
    if (result.kind === 'refused') throw invalid(correctPaths(result.errors, given))
    if (result.kind === 'unknown') throw notFound(result.what)
    if (result.kind === 'running' || result.kind === 'other_body') throw keyRefused(result.kind, 'request')
    markReplayed(reply, result.kind === 'replayed')
    if (result.kind === 'done' && result.objects.length > 0) {
      request.log.info({ objects: result.objects.length }, action)
      onDone?.(tenant)
    }
    return { message: describeNothing?.(result.data) ?? message, data: result.data }
  })
}

const tidy = <Body extends object>(body: Body): Body =>
  Object.fromEntries(
    Object.entries(body).map(([path, value]) => [
      path,
      typeof value === 'string' ? value.trim() : Array.isArray(value) ? [...new Set(value)] : value,
    ]),
  ) as Body

/** Corrects the paths of errors: actions read each entry of a list once, and paths name its first index in the body. */
const correctPaths = (errors: FieldErrors, body: object): FieldErrors => {
  const name = (path: string): string => {
    const [field = '', index] = path.split('.')
    const list = (body as Readonly<Record<string, unknown>>)[field]
    return index && Array.isArray(list) ? `${field}.${list.indexOf([...new Set(list)][Number(index)])}` : path
  }
  return Object.fromEntries(Object.entries(errors).map(([path, sentences]) => [name(path), sentences]))
}

/** Refuses impossible days such as the 30th of February, which schemas accept. */
export const refuseValues = (fields: TProperties, values: object): void => {
  const errors = Object.entries(values).flatMap(([path, value]) => {
    const isNoDay = fields[path]?.documented?.format === 'date' && !isDate(value)
    return isNoDay ? [[path, [`There is no day ${value}.`]]] : []
  })
  if (errors.length > 0) throw invalid(Object.fromEntries(errors))
}
