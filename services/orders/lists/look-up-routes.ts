import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import { isBadText } from '@courier/shared/errors/field-errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { exampleOrder, OrderView, TrackingEvent } from '../tracking/order-view.ts'
import { type LookUpStore, lookUpOrders, maxPerOrderNo } from './look-up.ts'

const maxNumbers = 500
/** The bytes of an order number of 100 escaped characters, and white space. */
const bodyLimit = maxNumbers * 1_024

const numbers = (maxLength: number, description: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength, pattern: '\\S' }), { minItems: 1, maxItems: maxNumbers, description }),
  )

const LookUp = Type.Object(
  {
    waybill_numbers: numbers(50, 'These, or order_nos.'),
    order_nos: numbers(100, `The merchant's own numbers; of each the newest ${maxPerOrderNo} orders.`),
  },
  { title: 'LookUp', examples: [{ waybill_numbers: ['DM00000001', 'DM00000009'] }] },
)

const { waybill_number, order_no, status, cod, delivery_charge, currency, created_at } = OrderView.properties
const LookedUp = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        ...{ waybill_number, order_no, status, date_time: TrackingEvent.properties.date_time },
        ...{ cod, delivery_charge, currency, created_at },
      }),
      { description: 'In the order of the numbers; several orders of one number: the newest first.' },
    ),
    missing: Type.Array(Type.String(), { description: 'The numbers of which the merchant has no order.' }),
  },
  {
    title: 'LookedUp',
    examples: [
      {
        data: [
          {
            ...{ waybill_number: exampleOrder.waybill_number, order_no: exampleOrder.order_no },
            ...{ status: exampleOrder.status, date_time: exampleOrder.created_at, cod: exampleOrder.cod },
            ...{ delivery_charge: exampleOrder.delivery_charge, currency: exampleOrder.currency },
            created_at: exampleOrder.created_at,
          },
        ],
        missing: ['DM00000009'],
      },
    ],
  },
)

/** Shows the statuses of many orders of the merchant. */
export const lookUpRoutes: FastifyPluginAsyncTypebox<LookUpStore> = async (app, store) => {
  acceptJson(app)
  app.post(
    '/order/lookup',
    {
      bodyLimit,
      schema: {
        tags: ['orders'],
        operationId: 'lookUpOrders',
        summary: 'The status of up to 500 orders',
        description:
          'By waybill numbers or by your own order numbers. Those that you do not have are listed as missing.',
        security: [{ token: [] }],
        body: LookUp,
        response: { 200: LookedUp, ...errorResponses(400, 401, 405, 413, 415, 422, 429, 503) },
      },
      serializerCompiler: () => JSON.stringify,
    },
    async request => {
      const { by, wanted } = wantedIn(request.body)
      const found = Map.groupBy(
        await lookUpOrders(store, request.merchant, by, wanted.filter(isStorable)),
        order => order[by],
      )
      return {
        data: wanted.flatMap(number => found.get(number) ?? []),
        missing: wanted.filter(number => !found.has(number)),
      }
    },
  )
}

/** Orders never have a number that Postgres refuses. */
const isStorable = (number: string): boolean => !isBadText(number)

const wantedIn = ({ waybill_numbers, order_nos }: Static<typeof LookUp>) => {
  if ((waybill_numbers === undefined) === (order_nos === undefined))
    throw invalid({ waybill_numbers: ['Give either waybill_numbers or order_nos.'] })
  const by = order_nos ? 'order_no' : 'waybill_number'
  const wanted = (order_nos ?? waybill_numbers ?? []).map(number => number.trim())
  return { by, wanted: [...new Set(wanted)] } as const
}
