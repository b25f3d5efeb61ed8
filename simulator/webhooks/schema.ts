import { type Static, Type } from '@sinclair/typebox'

export const WebhookCounts = Type.Object({
  waiting: Type.Integer({ description: 'Updates not yet posted.' }),
  under_way: Type.Integer({ description: 'Updates posted, without a response yet.' }),
  to_retry: Type.Integer({ description: 'Updates that wait for their next attempt.' }),
  delivered: Type.Integer({ description: 'Updates acknowledged with 200.' }),
  lost: Type.Integer({ description: 'Updates given up.' }),
})
export type WebhookCounts = Static<typeof WebhookCounts>

/** An update that was given up after its last attempt. */
export const GivenUp = Type.Object(
  {
    at: Type.String(),
    status: Type.Union([Type.Integer(), Type.String()], {
      description: 'Of the response to the last attempt, or why there was none.',
    }),
    update: Type.Unknown({ description: 'As its webhook had it.' }),
  },
  { title: 'GivenUp' },
)
export type GivenUp = Static<typeof GivenUp>
