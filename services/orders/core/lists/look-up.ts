import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { isBadText } from '@courier/shared/errors/field-errors.ts'
import { listForms } from '@courier/shared/name-key.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { component } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { Merchant } from '../access/merchant.ts'
import { isoTime } from '../database/iso-time.ts'
import { addListed, type Facets, flagsSql, hideFromMerchants, listFields } from '../tracking/facets.ts'
import type { ListedRow } from '../tracking/order-rows.ts'
import { OrderView, TrackingEvent } from '../tracking/order-schema.ts'
import { labelStatus } from '../tracking/order-view.ts'
import { type FacetStore, orderColumnsSql, viewOrders } from '../tracking/read-orders.ts'

const maxNumbers = 500
/** Limits the orders returned for one order number, newest first: merchants may reuse numbers. */
const maxPerOrderNo = 10
/** Allows each order number 100 escaped characters, and white space. */
const bodyLimit = maxNumbers * 1_024

const listNumbers = (maxLength: number, description: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength, pattern: '\\S' }), { minItems: 1, maxItems: maxNumbers, description }),
  )

const LookUp = Type.Object(
  {
    waybill_numbers: listNumbers(50, 'Give either these or order_nos.'),
    order_nos: listNumbers(100, `Your own order numbers; each finds up to ${maxPerOrderNo} orders, the newest.`),
  },
  { title: 'LookUp', examples: [{ waybill_numbers: ['DM00000001', 'DM00000009'] }] },
)

const picked = Type.Pick(OrderView, [
  'waybill_number',
  'order_no',
  'status',
  'cod',
  'delivery_charge',
  'currency',
  'created_at',
])
const LookedUpOrder = Type.Object({ ...picked.properties, date_time: TrackingEvent.properties.date_time })

const defineLookedUp = (facets: Facets) =>
  component('LookedUp', {
    data: Type.Array(Type.Object({ ...LookedUpOrder.properties, ...listFields(facets) }), {
      description: 'In the sequence of the given numbers; several orders with one number are listed newest first.',
    }),
    missing: Type.Array(Type.String(), { description: 'The numbers for which you have no order.' }),
  })

export const lookUpRoutes: FastifyPluginAsyncTypebox<FacetStore> = async (app, options) => {
  const store = { ...options, facets: hideFromMerchants(options.facets) }
  acceptJson(app)
  const schema = {
    operationId: 'lookUpOrders',
    summary: 'The status of up to 500 orders',
    description: 'Takes waybill numbers or your own order numbers. Lists those that you do not have as missing.',
    body: LookUp,
    response: { 200: defineLookedUp(store.facets) },
  }
  app.post('/order/lookup', { bodyLimit, serializerCompiler: () => JSON.stringify, schema }, async request => {
    const { by, wanted } = readWanted(request.body)
    // Orders never have a number that Postgres refuses.
    const numbers = wanted.filter(number => !isBadText(number))
    const forms = by === 'order_no' ? [...new Set(numbers.flatMap(listForms))] : numbers
    const orders = await lookUpOrders(store, request.merchant, by, forms)
    const found = Map.groupBy(orders, order => order[by]?.normalize('NFC'))
    const find = (number: string) => found.get(number.normalize('NFC'))
    return { data: wanted.flatMap(number => find(number) ?? []), missing: wanted.filter(number => !find(number)) }
  })
}

const readWanted = ({ waybill_numbers, order_nos }: Static<typeof LookUp>) => {
  if ((waybill_numbers === undefined) === (order_nos === undefined))
    throw invalid({ waybill_numbers: ['Give either waybill_numbers or order_nos.'] })
  const by = order_nos ? 'order_no' : 'waybill_number'
  const wanted = (order_nos ?? waybill_numbers ?? []).map(number => number.trim())
  return { by, wanted: [...new Set(wanted)] } as const
}

type FoundRow = ListedRow & {
  /** Is the time when the order reached its status; null: its timeline is archived. */
  readonly since: string | null
}

const selectSql = (facets: Facets): string => `
  select ${orderColumnsSql}${flagsSql(facets, 'orders', 'lists')}, (
    select ${isoTime('happened_at')} from order_events event
    where event.tenant_id = $1 and event.waybill_number = orders.waybill_number order by event_id desc limit 1
  ) as since`

const byWaybillSql = (facets: Facets): string => `${selectSql(facets)} from orders
  where tenant_id = $1 and waybill_number = any($3::text[]) and merchant_id = $2`

const byOrderNoSql = (
  facets: Facets,
): string => `${selectSql(facets)} from unnest($3::text[]) as wanted (number) cross join lateral (
    select * from orders where tenant_id = $1 and order_no = wanted.number and merchant_id = $2
    order by created_at desc limit ${maxPerOrderNo}
  ) orders
  order by orders.created_at desc`

/** Finds the merchant's orders by waybill numbers, unsorted, or by order numbers, newest first. */
export const lookUpOrders = async (
  store: FacetStore,
  { tenant, merchantId }: Merchant,
  by: 'waybill_number' | 'order_no',
  numbers: readonly string[],
): Promise<Static<typeof LookedUpOrder>[]> => {
  const [name, text] = by === 'order_no' ? ['find_by_order_no', byOrderNoSql] : ['find_by_waybill', byWaybillSql]
  const query = { name, text: text(store.facets), values: [tenant, merchantId, numbers] }
  const rows = await readInTenant<FoundRow>(store.pool, tenant, query)
  const orders = await viewOrders(store.catalogues, tenant, rows, (row, catalogue) => ({
    waybill_number: row.waybill_number,
    order_no: row.order_no,
    status: labelStatus(catalogue, row.status_key),
    date_time: row.since ?? row.created_at,
    cod: row.cod,
    delivery_charge: row.delivery_charge,
    currency: catalogue.currency,
    created_at: row.created_at,
  }))
  return addListed(store.facets, query => readInTenant(store.pool, tenant, query), tenant, orders, rows)
}
