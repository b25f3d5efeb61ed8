import { type Static, Type } from '@sinclair/typebox'
import { component, oneOf, orNull } from '../schemas.ts'
import { exampleSnapshot, OrderSnapshot, UtcTime } from './order-events.ts'

/**
 * Lists the actions that take effect at once, as far as a merchant could take them. Any other action is a request that
 * staff decide on; only after a failed delivery are `reattempt`, `return` and `tomorrow` instructions.
 */
export const immediateActions = ['confirm_order', 'cancel_order', 'change_address'] as const

const maxActionsPerRequest = 100
export const maxAddressLength = 500

/**
 * Describes an action that a customer chose with a button in a message. It is delivered at least once, each time with
 * the same `id`.
 */
export const CustomerAction = component('CustomerAction', {
  id: Type.String({ minLength: 1, maxLength: 100 }),
  waybill_number: Type.String({ minLength: 1, maxLength: 50 }),
  action: Type.String({
    maxLength: 63,
    pattern: '^[a-z][a-z0-9_]{0,62}$',
    description: `${immediateActions.join(', ')}, or the name of a request such as call_me.`,
  }),
  address: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxAddressLength,
      description: 'The new address of `change_address`. Without it, the request asks whether the address may change.',
    }),
  ),
  happened_at: UtcTime,
  recipient: Type.Optional(
    Type.String({
      maxLength: 20,
      pattern: '^\\d{5,20}$',
      description:
        'The person who pressed the button: E.164 digits without the plus. ' +
        'The action is refused once the order has another phone number.',
    }),
  ),
})
export type CustomerAction = Static<typeof CustomerAction>

const exampleAction: CustomerAction = {
  id: 'msg_0198a7c2k4m6p8r0t2v4x6z8a 0',
  waybill_number: 'DM00000001',
  action: 'confirm_order',
  happened_at: '2026-02-19T19:06:23.000Z',
}

/**
 * Describes the body of `POST /internal/customer-actions`: actions of one tenant; actions of one waybill come oldest
 * first.
 */
export const CustomerActions = Type.Object(
  {
    tenant: Type.String({ minLength: 1, maxLength: 63 }),
    actions: Type.Array(CustomerAction, { minItems: 1, maxItems: maxActionsPerRequest }),
  },
  { title: 'CustomerActions', examples: [{ tenant: 'demo', actions: [exampleAction] }] },
)
export type CustomerActions = Static<typeof CustomerActions>

/**
 * `done`: the order was changed or instructed, now or earlier by this action. `refused`: the order does not allow it.
 * `asked`: the address may be changed, but the new one is still to come. `requested`: staff will decide.
 */
export const actionOutcomes = ['done', 'refused', 'asked', 'requested'] as const
export type ActionOutcome = (typeof actionOutcomes)[number]

/** Lists the result of each action, in the order of the request. */
export const CustomerActionResults = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        id: Type.String(),
        outcome: oneOf(actionOutcomes),
        /** Gives the reason for a refusal, for staff. */
        detail: orNull(Type.String()),
        /** Describes the order after the action; null when it does not exist or has another phone number. */
        order: orNull(OrderSnapshot),
      }),
      { maxItems: maxActionsPerRequest },
    ),
  },
  {
    title: 'CustomerActionResults',
    examples: [{ data: [{ id: exampleAction.id, outcome: 'done', detail: null, order: exampleSnapshot }] }],
  },
)
export type CustomerActionResults = Static<typeof CustomerActionResults>
