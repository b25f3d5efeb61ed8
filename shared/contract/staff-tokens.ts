import { type Static, Type } from '@sinclair/typebox'
import { oneOf, orNull } from '../schemas.ts'
import { UtcTime } from './order-events.ts'
import { staffRoles } from './staff-roles.ts'

export const maxTokensPerRequest = 100

/**
 * Describes the body of `POST /internal/staff-tokens`: hashes of tokens, to look up their holders. A token itself is
 * never sent.
 */
export const StaffTokens = Type.Object(
  {
    tokens: Type.Array(
      Type.Object({
        tenant: Type.String({ minLength: 1, maxLength: 63 }),
        hash: Type.String({
          maxLength: 64,
          pattern: '^[0-9a-f]{64}$',
          description: 'SHA-256 of the token, in hexadecimal.',
        }),
      }),
      { minItems: 1, maxItems: maxTokensPerRequest },
    ),
  },
  {
    title: 'StaffTokens',
    examples: [
      { tokens: [{ tenant: 'demo', hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' }] },
    ],
  },
)
export type StaffTokens = Static<typeof StaffTokens>

const Role = oneOf(staffRoles)

const StaffToken = Type.Object({
  token_id: Type.String(),
  name: Type.String({ description: 'The name of the member of staff.' }),
  role: Role,
  /** Lists all roles, `role` first. */
  roles: Type.Array(Role),
  expires_at: orNull(UtcTime),
})

const exampleToken: Static<typeof StaffToken> = {
  token_id: 'tok_0123456789ab',
  name: 'Nimali Silva',
  role: 'dispatcher',
  roles: ['dispatcher', 'messenger'],
  expires_at: '2026-02-20T07:06:23.000Z',
}

/**
 * Lists the holder of each token, in the order of the request; null for a token that is unknown, expired or revoked, or
 * that does not come from a staff login.
 */
export const StaffTokenHolders = Type.Object(
  {
    now: { ...UtcTime, description: 'The current time by the Postgres of orders. Compare `expires_at` with it.' },
    data: Type.Array(orNull(StaffToken), { maxItems: maxTokensPerRequest }),
  },
  { title: 'StaffTokenHolders', examples: [{ now: '2026-02-19T19:06:23.000Z', data: [exampleToken, null] }] },
)
export type StaffTokenHolders = Static<typeof StaffTokenHolders>
