import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { isoTime } from '../../core/database/iso-time.ts'
import type { AddedFilters } from '../../core/lists/order-filter.ts'
import type { Facet } from '../../core/tracking/facets.ts'
import type { TrackedOrder } from '../../core/tracking/order-rows.ts'
import type { PublicTrackingEvent } from '../../core/tracking/order-schema.ts'
import { codeInMessages } from './delivery-code.ts'
import { findState } from './paths.ts'
import { writeProofUrl } from './proof-routes.ts'
import { isAppliedSql } from './proofs.ts'
import { findName } from './riders.ts'

const nullable = orNull(Type.String())
const RiderName = component('RiderName', {
  id: Type.String({ examples: ['7'] }),
  name: Type.String({ examples: ['Nimal'] }),
})
const RiderChange = component('RiderChange', {
  rider: { ...nullable, description: 'Who got the parcel; null: nobody.' },
  former: { ...nullable, description: 'Who had it; null: nobody.' },
  at: Type.String(),
  by: Type.String(),
})
const ShownAct = component('ShownAct', {
  act_no: Type.Integer(),
  kind: Type.String({ examples: ['deliver'] }),
  rider: nullable,
  happened_at: Type.String({ description: 'By the clock of the phone.' }),
  received_at: Type.String(),
  code: { ...nullable, description: 'Why it was refused; null: it was done.' },
  decision: nullable,
  without: { ...nullable, description: 'Why a proof is missing.' },
})

const PublicProof = component('PublicProof', {
  kind: Type.String({ examples: ['photo'] }),
  event: Type.String({ examples: ['delivered'] }),
  at: Type.String({ description: 'By the clock of the phone.' }),
  url: Type.String({ description: 'Shows the picture, for about an hour.' }),
})

interface Carried {
  readonly waybill_number: string
  readonly rider: Static<typeof RiderName> | null
  readonly rider_changes: readonly Static<typeof RiderChange>[]
  readonly rider_acts: readonly Static<typeof ShownAct>[]
  /** Lists the pictures of the door, of acts that were done. */
  readonly pictures: readonly Picture[]
}
interface Picture extends Omit<Static<typeof PublicProof>, 'url'> {
  readonly id: string
  readonly applied_at: string
}

const maxShown = 50
const carriedSql = `
  select each.waybill_number, (
      select json_build_object('id', rider_id::text, 'name', ${findName('rider_id')}) from rider_parcels
      where tenant_id = $1 and waybill_number = each.waybill_number
    ) as rider, (
      select coalesce(json_agg(json_build_object('rider', ${findName('rider_id')},
        'former', ${findName('former_id', 'former')}, 'at', ${isoTime('changed_at')}, 'by', changed_by) order by change_id desc), '[]')
      from (
        select * from rider_changes where tenant_id = $1 and waybill_number = each.waybill_number
        order by change_id desc limit ${maxShown}
      ) changes
    ) as rider_changes, (
      select coalesce(json_agg(json_build_object('act_no', act_no, 'kind', kind, 'rider', ${findName('rider_id')},
        'happened_at', ${isoTime('happened_at')}, 'received_at', ${isoTime('received_at')}, 'code', code,
        'decision', decision, 'without', fields->>'without') order by act_no desc), '[]')
      from (
        select * from rider_acts where tenant_id = $1 and waybill_number = each.waybill_number and kind <> 'drop'
        order by act_no desc limit ${maxShown}
      ) acts
    ) as rider_acts, (
      select coalesce(json_agg(json_build_object('id', proof_id::text, 'kind', proofs.kind,
        'event', case act.kind when 'fail' then 'failed' else 'delivered' end, 'at', ${isoTime('taken_at')},
        'applied_at', ${isoTime('coalesce(decided_at, received_at)')})
          order by proof_id desc), '[]')
      from proofs join rider_acts act on act.tenant_id = proofs.tenant_id and act.act_no = proofs.act_no
      where proofs.tenant_id = $1 and proofs.waybill_number = each.waybill_number and proofs.kind = 'photo'
        and type is not null and ${isAppliedSql}
    ) as pictures
  from unnest($2::text[]) as each (waybill_number)`

const rider = orNull(RiderName, { description: 'The rider who has the parcel.', examples: [null] })

/** Finds the entry of the timeline, newest first, that the act of a picture made: the first of its kind since then. */
const findMove = ({ row: { timeline } }: TrackedOrder, { event, applied_at }: Picture): number =>
  timeline.findLastIndex(
    ({ status_key, happened_at }) => findState(status_key) === stateOf[event] && happened_at >= applied_at,
  )
const stateOf: Readonly<Record<string, ReturnType<typeof findState>>> = { delivered: 'done', failed: 'failed' }

/** Shows staff who has a parcel, who had it, and what riders did with it. */
export const ridersFacet: Facet<Carried> = {
  existsSql: table => `(exists (
      select from rider_changes each where each.tenant_id = $1 and each.waybill_number = ${table}.waybill_number
    ) or exists (
      select from rider_acts each where each.tenant_id = $1 and each.waybill_number = ${table}.waybill_number
    ))`,
  read: async (read, tenant, waybills) => {
    const rows = await read<Carried>({ name: 'read_carried', text: carriedSql, values: [tenant, waybills] })
    return new Map(rows.map(row => [row.waybill_number, row]))
  },
  inLists: { onlyForStaff: true, fields: { rider }, view: found => ({ rider: found?.rider ?? null }) },
  inOne: {
    staff: {
      fields: {
        rider,
        rider_changes: Type.Array(RiderChange, { description: `The newest ${maxShown}, newest first.` }),
        rider_acts: Type.Array(ShownAct, { description: `The newest ${maxShown} acts of riders, newest first.` }),
      },
      view: ({ rider = null, rider_changes = [], rider_acts = [] }: Partial<Carried> = {}) => ({
        rider,
        rider_changes,
        rider_acts,
      }),
    },
    public: {
      fields: { proofs: Type.Optional(Type.Array(PublicProof, { description: 'Absent without the tracking_code.' })) },
      view: (found, order, publicUrl = '', built: { timeline?: readonly PublicTrackingEvent[] } = {}) => {
        const { row, catalogue } = order
        const proofs = (found?.pictures ?? []).map(({ id, applied_at: _, ...proof }) => ({
          ...proof,
          url: writeProofUrl(publicUrl, catalogue.tenant, catalogue.linkKeys[0] ?? '', row.waybill_number, id),
        }))
        const moves = (found?.pictures ?? []).map(picture => findMove(order, picture))
        const timeline = built.timeline?.map((entry, index) => ({
          ...entry,
          proofs: proofs.filter((_, at) => moves[at] === index).map(({ event: _, ...proof }) => proof),
        }))
        return { proofs, ...(timeline && { timeline }) }
      },
    },
    internal: { fields: {}, view: (_, { row, catalogue }) => codeInMessages(row, catalogue) },
  },
}

/** Filters staff's lists by who has the parcels. */
export const riderFilters: AddedFilters = {
  rider: {
    filter: {
      schema: Type.String({
        maxLength: 40,
        pattern: '^\\s*(none\\s*|[1-9][0-9]{0,17}\\s*)?$',
        description: 'The id of the rider who has the parcel; none: nobody has it.',
        must: 'be an id or none',
      }),
      read: text => text,
    },
    conditionSql: (value, placeholder) =>
      value === 'none'
        ? `${placeholder}::text = 'none' and not exists (
            select from rider_parcels each where each.tenant_id = $1 and each.waybill_number = orders.waybill_number)`
        : `waybill_number in (
            select waybill_number from rider_parcels where tenant_id = $1 and rider_id = ${placeholder}::bigint)`,
  },
}
