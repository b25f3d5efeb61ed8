import { type Static, Type } from '@sinclair/typebox'

/** The most cities that are listed. The period bounds the days, the tenant's set the statuses. */
export const maxCities = 100

const count = Type.Integer({ minimum: 0 })
const money = (description: string) => Type.Integer({ description })

const figures = {
  orders: Type.Integer({ description: 'All of them: the sum of the five counts that follow.' }),
  waiting: count,
  under_way: count,
  delivered: count,
  returned: count,
  cancelled: count,
  cod_total: money('Of all orders, in whole units of the currency.'),
  cod_delivered: money('Of delivered orders.'),
  cod_outstanding: money('Of orders that wait or are under way.'),
  delivered_first_attempt: count,
  first_attempt_share: Type.Union([Type.Number(), Type.Null()], {
    description: 'Of the delivered orders, 0 to 1, four decimals; null without any.',
  }),
}
/** What some orders add up to. */
export const Figures = Type.Object(figures, { title: 'OrderFigures' })
export type Figures = Static<typeof Figures>
export const Group = Type.Object(
  {
    key: Type.String({ description: 'The date, the key of the status or the id of the city.' }),
    name: Type.String({ description: 'The date, or the name of the status or the city.' }),
    ...figures,
  },
  { title: 'OrderGroup' },
)

export type Group = Static<typeof Group>

const exampleFigures: Figures = {
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
      total: Figures,
      groups: Type.Array(Group, {
        description: `None without group. Every day; every status, in the order of the set; the ${maxCities} cities with the most orders.`,
      }),
      others: Type.Union([Type.Object({ groups: count, ...figures }), Type.Null()], {
        description: 'The cities that groups leaves out, summed up.',
      }),
    }),
  },
  {
    title: 'OrderSummary',
    examples: [
      {
        data: {
          ...{ from: '2026-02-19', to: '2026-02-19', time_zone: 'Asia/Colombo', currency: 'LKR' },
          ...{ total: exampleFigures, groups: [{ key: '2026-02-19', name: '2026-02-19', ...exampleFigures }] },
          others: null,
        },
      },
    ],
  },
)
