import { staffOperations, staffRoles } from '@courier/shared/contract/staff-roles.ts'
import { type Static, Type } from '@sinclair/typebox'
import { loginFields } from './login-routes.ts'

const Role = Type.Union(staffRoles.map(each => Type.Literal(each)))
const held = {
  role: { ...Role, description: 'The first of the roles.' },
  roles: Type.Array(Role, { maxItems: staffRoles.length }),
}

export const StaffLogin = Type.Object(loginFields, {
  title: 'StaffLogin',
  examples: [{ email: 'dispatcher@courier.example', password: 'a-long-password' }],
})

export const LoggedInStaff = Type.Object(
  {
    message: Type.Literal('success'),
    token: Type.String({ description: 'The bearer token of further requests, at orders and at the notifier.' }),
    expires_at: Type.String({ description: 'The time when the token expires.' }),
    staff: Type.Object({ name: Type.String(), email: Type.String(), ...held }),
  },
  { title: 'LoggedInStaff' },
)

export const CurrentStaff = Type.Object(
  {
    name: Type.String({ examples: ['Nimali Silva'] }),
    email: Type.Union([Type.String({ examples: ['dispatcher@courier.example'] }), Type.Null()], {
      description: 'null for a token that the operator made.',
    }),
    ...held,
    tenant: Type.Object({
      id: Type.String(),
      name: Type.String(),
      currency: Type.String(),
      country: Type.String(),
      time_zone: Type.String(),
    }),
    operations: Type.Array(Type.String(), {
      maxItems: staffOperations.length,
      description:
        'The operations that the token may call, by operationId: of orders and the notifier, or of orders alone without an account.',
    }),
  },
  { title: 'CurrentStaff' },
)
export type CurrentStaff = Static<typeof CurrentStaff>
