import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { isOpenSql } from '../../core/statuses/status-queries.ts'
import type { Refusal, Work } from './acts.ts'
import { type Image, stripImage } from './images.ts'
import type { Rider } from './riders.ts'
import { type Act, maxProofBytes, type ProofPart } from './schema.ts'

// Keeps the proofs of deliveries and failures (docs/staff/riders.md#proof).

const kinds = ['photo', 'signature', 'code', 'none'] as const
type Kind = (typeof kinds)[number]

export interface NewProof {
  readonly kind: Kind
  readonly image?: Image | undefined
  /** Is the size of an image that follows. */
  readonly size?: number | undefined
  readonly reason?: string | undefined
}

/** Reads the proofs that came with an act. A code counts once the act is done. */
export const readProofs = ({ proof = {} }: Act): readonly NewProof[] | Refusal => {
  const images = (['photo', 'signature'] as const).flatMap(kind => {
    const text = proof[kind]
    return text === undefined ? [] : [{ kind, image: readImage(text) }]
  })
  const broken = images.find(({ image }) => !image)
  if (broken)
    return {
      code: 'proof_invalid',
      message: `The ${broken.kind} is no JPEG, PNG or WebP of at most ${maxProofBytes} bytes.`,
    }
  return [
    ...images,
    ...Object.entries(proof.follows ?? {}).map(([kind, size]) => ({ kind: kind as Kind, size })),
    ...(proof.code === undefined ? [] : [{ kind: 'code' as const }]),
    ...(proof.without === undefined ? [] : [{ kind: 'none' as const, reason: proof.without.trim() }]),
  ]
}

const readImage = (text: string): Image | undefined => {
  const bytes = decodeBase64(text)
  return bytes && bytes.length <= maxProofBytes ? stripImage(bytes) : undefined
}

/** Returns undefined for a text with anything else, which Buffer.from skips. */
export const decodeBase64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64')
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='))
  return bytes.length === Math.floor(((text.length - padding) * 3) / 4) ? bytes : undefined
}

export const insertProofs = async (tx: Tx, work: Work, actNo: string, proofs: readonly NewProof[]): Promise<void> => {
  const { tenant, act } = work
  for (const { kind, image, size, reason } of proofs) {
    const about = [tenant, act.waybill_number, actNo, kind, new Date(act.happened_at)]
    await tx.client.query(insertSql, [...about, image?.type, image?.bytes, size, reason])
  }
}

const insertSql = `
  insert into proofs (tenant_id, waybill_number, act_no, kind, taken_at, type, bytes, size, reason)
  values ($1, $2, $3::bigint, $4, $5, $6, $7, $8, $9)`

interface Following {
  readonly proof_id: string
  readonly size: number
  readonly type: string | null
  readonly bytes: Buffer | null
}

/**
 * Appends a part that fits where the others ended, and checks the image once it is whole. Returns how much is here: a
 * part that came before, or too early, changes nothing.
 */
export const appendPart = async (
  tx: Tx,
  tenant: string,
  { id: riderId }: Rider,
  { act, kind, offset, bytes: part }: Omit<ProofPart, 'bytes'> & { readonly bytes: Buffer },
): Promise<'unknown' | 'too long' | { received: number; is_complete: boolean }> => {
  const [found] = await tx.rows<Following>(followingSql, [tenant, riderId, act, kind])
  if (!found) return 'unknown'
  const { proof_id, size, type, bytes: before } = found
  const received = before?.length ?? 0
  if (type) return { received: size, is_complete: true }
  if (received !== offset) return { received, is_complete: false }
  if (received + part.length > size) return 'too long'
  const bytes = Buffer.concat([before ?? part.subarray(0, 0), part])
  const isWhole = bytes.length === size
  const image = isWhole ? stripImage(bytes) : { type: null, bytes }
  const reason = image ? null : `The ${kind} that followed is no image.`
  const changed = [image ? kind : 'none', image?.type, image?.bytes, reason]
  await tx.client.query(appendSql, [tenant, proof_id, ...changed])
  return { received: bytes.length, is_complete: isWhole }
}

const followingSql = `
  select proof_id, size, type, bytes from proofs where tenant_id = $1 and kind = $4 and size is not null and act_no = (
    select act_no from rider_acts where tenant_id = $1 and rider_id = $2::bigint and act_id = $3) for update`
const appendSql = `
  update proofs set kind = $3, type = $4, bytes = $5, reason = $6 where tenant_id = $1 and proof_id = $2::bigint`

export const ProofView = component('Proof', {
  id: Type.String({ examples: ['17'] }),
  kind: oneOf(kinds, { description: 'none: the rider went on without the proof that the company wants.' }),
  event: oneOf(['delivered', 'failed']),
  at: Type.String({ description: 'By the clock of the phone.' }),
  type: orNull(Type.String(), {
    examples: ['image/jpeg'],
    description: 'null: there is no image, or it has not arrived.',
  }),
})
export type ProofView = Static<typeof ProofView>
export const StaffProofView = component('StaffProof', {
  ...ProofView.properties,
  reason: orNull(Type.String(), { description: 'Why the proof is missing.' }),
  rider: Type.String({ examples: ['Nimal'] }),
  is_applied: Type.Boolean({ description: 'False: its act was refused, and nobody applied it.' }),
})
export type StaffProofView = Static<typeof StaffProofView>

/** Lists the proofs of a parcel, newest first, also those of acts that were refused. */
export const listProofs = (tx: Tx, tenant: string, waybill: string): Promise<StaffProofView[]> =>
  tx.rows({ name: 'list_proofs', text: proofsSql, values: [tenant, waybill] })

export const isAppliedSql = `(code is null or decision = 'applied')`
const proofsSql = `
  select proof_id::text as id, proofs.kind, case act.kind when 'fail' then 'failed' else 'delivered' end as event,
    ${isoTime('taken_at')} as at, type, reason, ${isAppliedSql} as is_applied,
    coalesce((select name from staff where staff.tenant_id = $1 and staff.staff_id = act.rider_id), '') as rider
  from proofs join rider_acts act on act.tenant_id = proofs.tenant_id and act.act_no = proofs.act_no
  where proofs.tenant_id = $1 and proofs.waybill_number = $2 order by proof_id desc limit 100`

/** Reads the image of a proof of this parcel; undefined: there is none. `onlyApplied` leaves out refused acts. */
export const readProofImage = async (
  tx: Tx,
  tenant: string,
  waybill: string,
  id: string,
  onlyApplied: boolean,
  kind: Kind | null = null,
): Promise<Image | undefined> => (await tx.rows<Image>(imageSql, [tenant, waybill, id, onlyApplied, kind]))[0]

const imageSql = `
  select type, bytes from proofs join rider_acts act on act.tenant_id = proofs.tenant_id and act.act_no = proofs.act_no
  where proofs.tenant_id = $1 and proofs.waybill_number = $2 and proof_id = $3::bigint and type is not null
    and (not $4::boolean or ${isAppliedSql}) and ($5::text is null or proofs.kind = $5)`

/** Hold for a response that is an image from outside: it is shown as that, and nothing in it runs. */
export const imageHeaders = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, max-age=3600',
  'content-disposition': 'inline',
  'cross-origin-resource-policy': 'cross-origin',
}

/** Deletes proofs that are older than the company keeps them, by the time when they came. */
export const deleteOldProofs = deleteWhere(
  'proofs',
  `act_no in (
    select act_no from rider_acts where tenant_id = $1 and received_at < now() - make_interval(days => (
      select coalesce((proof_rules::jsonb->>'keep_days')::int, 90) from tenants where tenant_id = $1)))`,
)

const endedSql = `assigned_at < now() - interval '90 days' and exists (
    select from orders where orders.tenant_id = $1 and orders.waybill_number = rider_parcels.waybill_number
      and not (${isOpenSql}))`
/** Deletes who had parcels that ended; their changes stay. */
export const deleteOldParcels = deleteWhere('rider_parcels', endedSql)
export const deleteOldLinks = deleteWhere('sign_in_links', `expires_at < now() - interval '40 days'`)
