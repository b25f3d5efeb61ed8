import { Type } from '@sinclair/typebox'
import { component, orNull } from '../schemas.ts'

/** Says how many more people messages about new orders may reach within the platform's limit of 24 hours. */
export const SendingRoom = component('SendingRoom', {
  may_leave_today: Type.Integer({ description: 'How many more people messages may reach now.', examples: [219] }),
  opens_at: orNull(Type.String(), {
    description: 'Null if one more message may leave now; else when, about.',
    examples: [null],
  }),
})

/** null: no limit is known. */
export const FoundRoom = component('FoundRoom', { data: orNull(SendingRoom) })
