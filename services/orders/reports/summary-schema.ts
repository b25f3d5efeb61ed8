import { type Static, Type } from '@sinclair/typebox'

/** The most cities that are listed. The period bounds the days, the tenant's set the statuses. */
export const maxCities = 100

const count = Type.Integer({ minimum: 0 })
const money = (description: string) => Type.Integer({ description })

const totals = {
  orders: Type.Integer({ description: 'All of them: the sum of the five counts that follow.' }),
  waiting: count,
  under_way: count,
  delivered: count,
  returned: count,
  cancelled: count,
  cod_total: money('Of all orders, in whole units of the currency.'),
  cod_delivered: money('Of delivered orders.'),
  cod_outstanding: money('Of orders waiting or under way.'),
  delivered_first_attempt: count,
  first_attempt_share: Type.Union([Type.Number(), Type.Null()], {
    description: 'The share of the delivered orders, 0 to 1, four decimals; null if there are none.',
  }),
}
export const Totals = Type.Object(totals, { title: 'OrderTotals' })
export type Totals = Static<typeof Totals>
export const Group = Type.Object(
  {
    key: Type.String({ description: 'The date, the key of the status or the id of the city.' }),
    name: Type.String({ description: 'The date, or the name of the status or the city.' }),
    ...totals,
  },
  { title: 'OrderGroup' },
)

export type Group = Static<typeof Group>

const exampleTotals: Totals = {
  ...{ orders: 120, waiting: 4, under_way: 10, delivered: 98, returned: 5, cancelled: 3 },
  ...{ cod_total: 540_000, cod_delivered: 441_000, cod_outstanding: 63_000 },
  ...{ delivered_first_attempt: 91, first_attempt_share: 0.9286 },
}

export const Summary = Type.Object(
  {
    data: Type.Object({
      from: Type.String(),
      to: Type.String(),
      time_zone: Type.String(),
      currency: Type.String(),
      total: Totals,
      groups: Type.Array(Group, {
        description: `Empty without group. Otherwise every day; every status, in the order of the set; or the ${maxCities} cities with the most orders.`,
      }),
      others: Type.Union([Type.Object({ groups: count, ...totals }), Type.Null()], {
        description: 'The totals of the cities left out of groups.',
      }),
    }),
  },
  {
    title: 'OrderSummary',
    examples: [
      {
        data: {
          ...{ from: '2026-02-19', to: '2026-02-19', time_zone: 'Asia/Colombo', currency: 'LKR' },
          ...{ total: exampleTotals, groups: [{ key: '2026-02-19', name: '2026-02-19', ...exampleTotals }] },
          others: null,
        },
      },
    ],
  },
)
