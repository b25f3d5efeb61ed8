import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../one-of.ts'

/** How every call fails during an outage, before it is read. The control calls and the page keep working. */
export const outageModes = ['reset', 'hang', 'unavailable', 'html'] as const

export const Outage = Type.Union(
  [
    oneOf(outageModes, {
      description:
        'reset cuts the connection; hang answers nothing until the outage ends, then cuts it; unavailable is 503 with code 2; html is 502 with a page.',
    }),
    Type.Null({ description: 'No outage.' }),
  ],
  { must: `be one of ${outageModes.join(', ')}, or null` },
)
export type Outage = Static<typeof Outage>
