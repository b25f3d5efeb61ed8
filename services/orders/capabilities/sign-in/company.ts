import { type StaffRole, staffRoles } from '@courier/shared/contract/staff-roles.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../core/database/tables.ts'
import { type CompanyPart, defineFields } from '../../core/provisioning/company-part.ts'

const second_factor = Type.Optional(oneOf(['admin', 'all']))

/** Says how a company's people sign in (docs/operators/sign-in.md#the-company-file). */
const SignInRules = closed({
  /** False leaves staff only the company's provider. */
  password: Type.Optional(Type.Boolean()),
  /** Says which members of staff need a second factor besides their password. */
  second_factor,
  /** Says the same of merchants' people, among whom owners are the admins. */
  merchants: Type.Optional(closed({ password: Type.Optional(Type.Boolean()), second_factor })),
  /** Maps groups of the provider to roles: their members are added at their first sign-in. */
  groups: Type.Optional(
    Type.Record(
      Type.String({ minLength: 1, maxLength: 200 }),
      Type.Array(oneOf(staffRoles), { minItems: 1, maxItems: staffRoles.length }),
      { maxProperties: 100 },
    ),
  ),
})

export const signInPart: CompanyPart = {
  tenant: defineFields({ sign_in: Type.Optional(SignInRules) }, given => ({
    sign_in: given.sign_in ? JSON.stringify(given.sign_in) : null,
  })),
}

interface SideRules {
  readonly password: boolean
  readonly secondFactor: 'admin' | 'all' | undefined
}

export interface Rules {
  readonly staff: SideRules
  readonly merchants: SideRules
  readonly groups: ReadonlyMap<string, readonly StaffRole[]>
}

export const readRules = async (tx: Tx, tenant: string): Promise<Rules> => {
  const query = { name: 'read_sign_in_rules', text: 'select sign_in from tenants where tenant_id = $1' }
  const [row] = await tx.rows<{ sign_in: string | null }>({ ...query, values: [tenant] })
  const given: Static<typeof SignInRules> = JSON.parse(row?.sign_in ?? '{}')
  const { merchants = {} } = given
  return {
    staff: { password: given.password ?? true, secondFactor: given.second_factor },
    merchants: { password: merchants.password ?? true, secondFactor: merchants.second_factor },
    groups: new Map(Object.entries(given.groups ?? {})),
  }
}
