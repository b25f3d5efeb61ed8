import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'

/** The most cities that are listed. The period bounds the days, the tenant's set the statuses. */
export const maxCities = 100

const count = (example: number) => Type.Integer({ minimum: 0, examples: [example] })
const money = (description: string, example: number) => Type.Integer({ description, examples: [example] })

const totals = {
  orders: Type.Integer({ description: 'All of them: the sum of the five counts that follow.', examples: [120] }),
  waiting: count(4),
  under_way: count(10),
  delivered: count(98),
  returned: count(5),
  cancelled: count(3),
  cod_total: money('Of all orders, in whole units of the currency.', 540_000),
  cod_delivered: money('Of delivered orders.', 441_000),
  cod_outstanding: money('Of orders waiting or under way.', 63_000),
  delivered_first_attempt: count(91),
  first_attempt_share: orNull(Type.Number(), {
    description: 'The share of the delivered orders, 0 to 1, four decimals; null if there are none.',
    examples: [0.9286],
  }),
}
export const Totals = Type.Object(totals, { title: 'OrderTotals' })
export type Totals = Static<typeof Totals>
export const Group = component('OrderGroup', {
  key: Type.String({ description: 'The date, the key of the status or the id of the city.' }),
  name: Type.String({ description: 'The date, or the name of the status or the city.' }),
  ...totals,
})

export type Group = Static<typeof Group>

export const Summary = component('OrderSummary', {
  data: Type.Object({
    from: Type.String(),
    to: Type.String(),
    time_zone: Type.String(),
    currency: Type.String(),
    total: Totals,
    groups: Type.Array(Group, {
      description: `Empty without group. Otherwise every day; every status, in the order of the set; or the ${maxCities} cities with the most orders.`,
    }),
    others: orNull(Type.Object({ groups: Type.Integer(), ...totals }), {
      description: 'The totals of the cities left out of groups.',
    }),
  }),
})
export type Groups = Pick<Static<typeof Summary>['data'], 'groups' | 'others'>
