import { oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Rendered } from '../../core/templates/render.ts'
import { PriceView } from '../costs/price-view.ts'

const Text = orNull(Type.String())

export const Preflight = Type.Object(
  {
    status: oneOf(['queued', 'held', 'refused'], { description: 'The status that a send would give the message.' }),
    errors: Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        'The errors of a send, by path; without a refusal, the reasons why the message would still fail or wait.',
      examples: [{}],
    }),
    to: orNull(Type.String(), { description: 'E.164 digits without the plus.', examples: ['94770000101'] }),
    channel: orNull(
      Type.Object({
        phone_number_id: Type.String({ examples: ['106540352242922'] }),
        name: Type.String({ examples: ['Demo Couriers'] }),
        state: oneOf(['active', 'paused']),
        paused_reason: Text,
      }),
    ),
    text: orNull(Rendered, {
      description: 'The text as the customer reads it; null if the catalogue lacks the template.',
    }),
    window: Type.Object({
      open: Type.Boolean({ description: 'True if a message may be sent now on the free plan.', examples: [false] }),
      until: orNull(Time(), { description: 'The time when the window closes or closed.' }),
    }),
    opt_out: Type.Object({
      scope: orNull(oneOf(['all', 'marketing']), { examples: [null] }),
      since: orNull(Time()),
      exempt: Type.Boolean({
        description: 'True if the message goes even to a person who opted out.',
        examples: [false],
      }),
    }),
    hours: orNull(Type.Object({ between: Type.Array(Type.String()), time_zone: Type.String() }), {
      description: 'The hours within which the message is sent; null means at any time.',
      examples: [null],
    }),
    leaves_at: orNull(Time(), {
      description:
        "The time when the message leaves, ignoring its number's rate; null if, as things stand, it does not.",
      examples: ['2026-02-19T19:06:23.000Z'],
    }),
    waits_for: orNull(Type.String(), {
      description: 'The reason why the message leaves later than requested, or not yet.',
    }),
    limit: orNull(
      Type.Object({
        max_people: Type.Integer({ examples: [250] }),
        left: Type.Integer({ examples: [219] }),
        opens_at: orNull(Time(), { description: 'Null if one more message may leave now; else when, about.' }),
      }),
      {
        description:
          'The people whom the portfolio of the channel may reach in 24 hours, and may still reach; null: no known limit, or the message takes no room.',
      },
    ),
    price: PriceView,
  },
  { title: 'Preflight' },
)
export type Preflight = Static<typeof Preflight>

export const Preflights = Type.Object(
  { data: Type.Array(Preflight, { description: 'One for each message, in the order of the request.' }) },
  { title: 'Preflights' },
)
