import { oneOf, orNull } from '@courier/shared/schemas.ts'
import { Type } from '@sinclair/typebox'

/** Shows what a message will cost once it is delivered, with the reason; the amount is null if it is unknown. */
export const PriceView = Type.Object(
  {
    amount: orNull(Type.String(), { description: 'An exact decimal.', examples: ['0.0165'] }),
    currency: orNull(Type.String(), { examples: ['USD'] }),
    category: orNull(Type.String(), { examples: ['utility'] }),
    is_free: Type.Boolean({ examples: [false] }),
    reason: oneOf(['tariff', 'open_window', 'free_quota', 'no_tariff', 'no_category']),
  },
  { description: 'The price of a delivery at `leaves_at`, or now; `reason` explains the amount.' },
)
