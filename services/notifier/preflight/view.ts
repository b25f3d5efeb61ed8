import { type Static, Type } from '@sinclair/typebox'
import { orNull } from '../messages/view.ts'

const literals = <T extends string>(values: T[], options?: object) =>
  Type.Union(
    values.map(value => Type.Literal(value)),
    options,
  )
const Text = orNull(Type.String())

const Rendered = Type.Object({
  header: Text,
  media: orNull(Type.Object({ kind: Type.String(), link: Text, name: Text })),
  body: Text,
  footer: Text,
  buttons: Type.Array(Type.Object({ kind: Type.String(), label: Type.String(), url: Text, code: Text })),
})

/** The predicted outcome of a message. */
export const Preflight = Type.Object(
  {
    status: literals(['queued', 'held', 'refused'], { description: 'What a send would make of it.' }),
    errors: Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        'Those of a send, by path; of a message that is not refused, why it would fail or stay all the same.',
    }),
    to: orNull(Type.String(), { description: 'E.164 digits without the plus.' }),
    channel: orNull(
      Type.Object({
        phone_number_id: Type.String(),
        name: Type.String(),
        state: literals(['active', 'paused']),
        paused_reason: Text,
      }),
    ),
    text: orNull(Rendered, {
      description: 'As the customer reads it; null: the catalogue does not have the template.',
    }),
    window: Type.Object({
      open: Type.Boolean({ description: 'Whether a message may be sent on plan free now.' }),
      until: orNull(Type.String(), { description: 'When it closes, or closed.' }),
    }),
    opt_out: Type.Object({
      scope: orNull(literals(['all', 'marketing'])),
      since: Text,
      exempt: Type.Boolean({ description: 'Whether it goes to a person who opted out, too.' }),
    }),
    hours: orNull(Type.Object({ between: Type.Array(Type.String()), time_zone: Type.String() }), {
      description: 'Within which it is sent; null: at any time.',
    }),
    leaves_at: orNull(Type.String(), {
      description: "When it is sent, apart from its number's rate; null: not as things stand.",
    }),
    waits_for: orNull(Type.String(), { description: 'Why it is sent later than asked for, or not yet.' }),
    price: Type.Object(
      {
        amount: orNull(Type.String(), { description: 'An exact decimal.' }),
        currency: Text,
        category: Text,
        is_free: Type.Boolean(),
        reason: literals(['tariff', 'open_window', 'no_tariff', 'no_category']),
      },
      {
        description:
          'Of a delivery at `leaves_at`, or now; the amount is null where the `reason` is that it is not known.',
      },
    ),
  },
  { title: 'Preflight' },
)
export type Preflight = Static<typeof Preflight>

const examplePreflight: Preflight = {
  status: 'queued',
  errors: {},
  to: '94770000101',
  channel: { phone_number_id: '106540352242922', name: 'Demo Couriers', state: 'active', paused_reason: null },
  text: {
    header: null,
    media: null,
    body: 'Hello Nimali, your parcel DM00000001 was delivered. Thank you!',
    footer: null,
    buttons: [],
  },
  window: { open: false, until: null },
  opt_out: { scope: null, since: null, exempt: false },
  hours: null,
  leaves_at: '2026-02-19T19:06:23.000Z',
  waits_for: null,
  price: { amount: '0.0165', currency: 'USD', category: 'utility', is_free: false, reason: 'tariff' },
}

export const Preflights = Type.Object(
  { data: Type.Array(Preflight, { description: 'One for each message, in the order of the request.' }) },
  { title: 'Preflights', examples: [{ data: [examplePreflight] }] },
)
