import { closed, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../core/database/tables.ts'
import { type CompanyPart, defineFields } from '../../core/provisioning/company-part.ts'

const deliveryProofs = ['none', 'photo', 'signature', 'code'] as const
const failureProofs = ['none', 'photo', 'signature'] as const

/** Says which proof riders need (docs/staff/riders.md#proof). */
export const ProofRules = closed({
  delivered: Type.Optional(oneOf(deliveryProofs)),
  /** Limits the proof of deliveries to parcels with a higher COD. */
  above_cod: Type.Optional(
    orNull(Type.Integer({ minimum: 0, maximum: 2_147_483_647, must: 'be a whole amount from 0' })),
  ),
  failed: Type.Optional(oneOf(failureProofs)),
  keep_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650, must: 'be 1 to 3650 days' })),
})
export type ProofKind = (typeof deliveryProofs)[number]

export const ridersPart: CompanyPart = {
  tenant: defineFields({ proof: Type.Optional(ProofRules) }, ({ proof }) => ({
    proof_rules: proof ? JSON.stringify(proof) : null,
  })),
}

export interface Rules {
  readonly delivered: ProofKind
  readonly above_cod: number | null
  readonly failed: ProofKind
}

export const readRules = async (tx: Tx, tenant: string): Promise<Rules> => {
  const query = { name: 'read_proof_rules', text: 'select proof_rules from tenants where tenant_id = $1' }
  const [row] = await tx.rows<{ proof_rules: string | null }>({ ...query, values: [tenant] })
  const { keep_days: _, ...given }: Static<typeof ProofRules> = JSON.parse(row?.proof_rules ?? '{}')
  return { delivered: 'none', above_cod: null, failed: 'none', ...given }
}

/** Returns the proofs that one parcel needs. */
export const findNeeded = ({ delivered, above_cod, failed }: Rules, cod: number) => ({
  delivered: above_cod === null || cod > above_cod ? delivered : ('none' as const),
  failed,
})
