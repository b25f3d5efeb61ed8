import { type StaffRole, staffRoles } from '@courier/shared/contract/staff-roles.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../core/database/tables.ts'
import { type CompanyPart, defineFields } from '../../core/provisioning/company-part.ts'

/** Says how a company's people sign in (docs/operators/sign-in.md#the-company-file). */
const SignInRules = closed({
  /** False leaves staff only the company's provider. */
  password: Type.Optional(Type.Boolean()),
  merchants: Type.Optional(closed({ password: Type.Optional(Type.Boolean()) })),
  /** Says which members of staff need a second factor besides their password. */
  second_factor: Type.Optional(oneOf(['admin', 'all'])),
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

export interface Rules {
  readonly allowsPassword: Readonly<Record<'staff' | 'merchant', boolean>>
  readonly secondFactor: 'admin' | 'all' | undefined
  readonly groups: ReadonlyMap<string, readonly StaffRole[]>
}

export const readRules = async (tx: Tx, tenant: string): Promise<Rules> => {
  const query = { name: 'read_sign_in_rules', text: 'select sign_in from tenants where tenant_id = $1' }
  const [row] = await tx.rows<{ sign_in: string | null }>({ ...query, values: [tenant] })
  const given: Static<typeof SignInRules> = JSON.parse(row?.sign_in ?? '{}')
  return {
    allowsPassword: { staff: given.password ?? true, merchant: given.merchants?.password ?? true },
    secondFactor: given.second_factor,
    groups: new Map(Object.entries(given.groups ?? {})),
  }
}
