import { identifyPerson } from '@courier/shared/phone-number.ts'
import { identify, type Move, movePeople, type OnMoved, type Sighting } from '../conversations/identities.ts'
import { insertInbound } from '../conversations/inbound-messages.ts'
import { prepared, type Tx, toColumns } from '../database/tables.ts'
import type { ChangeFact, InboundFact } from './envelope.ts'
import type { NamedPerson } from './person.ts'
import type { Known, SignedFacts, TenantFact } from './signed-facts.ts'
import type { WebhookSteps } from './webhook-point.ts'

type Named = NamedPerson & { readonly tenant: string; readonly phoneNumberId: string; readonly at: Date }

/**
 * Finds the recipients of the people in webhooks; learns which numbers and user ids belong together, and moves the
 * conversations of people whose number or id turns out to be another. Locks identities and what moves.
 */
export const recognise = async (
  tx: Tx,
  facts: SignedFacts,
  steps: readonly WebhookSteps[],
  onMoved: readonly OnMoved[],
) => {
  const changes = await storeChanges(tx, facts.changes)
  const found: ReadonlyMap<TenantFact<InboundFact>, NamedPerson>[] = []
  for (const { findWriters } of steps) if (findWriters) found.push(await findWriters())
  const inbound = facts.inbound.map(fact => Object.assign({}, fact, ...found.map(writers => writers.get(fact))))
  const named: Named[] = [...inbound, ...facts.preferences, ...facts.echoes, ...facts.owners]
  const paired = facts.statuses.filter(({ phone, userId }) => phone !== undefined && userId !== undefined)
  const movedTo = await findMovedTo(tx, [...named, ...paired])
  const sightings = [...named, ...paired].flatMap((fact): Sighting[] => {
    const { tenant, phone: recipient, userId, username } = fact
    return userId === undefined || movedTo.has(fact) ? [] : [{ tenant, userId, username, recipient }]
  })
  sightings.push(...(await findReached(tx, facts.statuses)))
  // A change counts after what else names its old id.
  const { find, moves } = await identify(tx, [...sightings, ...changes.flatMap(readChange)])
  const moved = [...moves, ...changes.flatMap(change => readMove(change, find))]
  const know = <F extends Named>(fact: F): Known<F>[] => {
    const { tenant, phone, userId, at } = fact
    const now = phone ?? (userId && find({ tenant, userId }))
    const left = moved.find(move => move.tenant === tenant && move.from === now && move.at && at < move.at)
    const recipient = movedTo.get(fact) ?? left?.to ?? now
    return recipient === undefined ? [] : [{ ...fact, recipient }]
  }
  const known = {
    inbound: inbound.flatMap(know),
    preferences: facts.preferences.flatMap(know),
    echoes: facts.echoes.flatMap(know),
    owners: facts.owners.flatMap(know),
  }
  const people = [...known.inbound, ...known.preferences, ...listOwners(known)]
  await movePeople(tx, moved, { onMoved, people })
  return { ...known, moved }
}

interface People {
  readonly echoes: readonly Known<SignedFacts['echoes'][number]>[]
  readonly owners: readonly Known<SignedFacts['owners'][number]>[]
}

/** Lists what says who answers a person, without inbound messages: handovers, and what another responder wrote. */
export const listOwners = ({ echoes, owners }: People) => [
  ...owners,
  ...echoes.flatMap(({ isStandby, edits: _edits, ...echo }) => (isStandby ? { ...echo, owner: 'other' as const } : [])),
]

/** Stores system messages; returns the new ones: an old one that comes again must not move who has the number now. */
const storeChanges = async (tx: Tx, changes: readonly TenantFact<ChangeFact>[]): Promise<TenantFact<ChangeFact>[]> => {
  const messages = changes.map(({ phone, userId, ...fact }) => {
    const none = { text: undefined, mediaId: undefined, isHandled: true }
    return { ...fact, ...none, recipient: phone ?? userId ?? '', type: 'system' }
  })
  const stored = await insertInbound(tx, messages)
  return changes.filter(({ tenant, messageId }) => stored.has(`${tenant} ${messageId}`))
}

/** Returns what a change says of the new user id, and of the one that it replaces. */
const readChange = ({ tenant, phone, userId, before, at }: TenantFact<ChangeFact>): Sighting[] => [
  ...(userId === undefined ? [] : [{ tenant, userId, recipient: phone }]),
  ...(before.userId === undefined || before.userId === userId
    ? []
    : [{ tenant, userId: before.userId, recipient: phone ?? userId, isChange: true, at }]),
]

/** Returns the move away from a number that the person gave up. */
const readMove = (
  { tenant, phone, userId, before, at }: TenantFact<ChangeFact>,
  find: (of: Sighting) => string,
): Move[] => {
  const to = phone ?? (userId && find({ tenant, userId }))
  return before.phone === undefined || to === undefined || to === before.phone
    ? []
    : [{ tenant, from: before.phone, to, at }]
}

/** Finds the recipients of people who gave up the number that a late webhook names, after what it reports. */
const findMovedTo = async (tx: Tx, people: readonly Named[]): Promise<Map<Named, string>> => {
  const named = people.filter(({ phone }) => phone !== undefined)
  if (named.length === 0) return new Map()
  const [tenants, numbers, times] = toColumns(named, 'tenant', 'phoneNumberId', 'at')
  const rows = await prepared<{ place: number; recipient: string }>(tx, 'find_moved_to')`
    select place::integer, moved_to as recipient
    from unnest(${tenants}::text[], ${numbers}::text[], ${named.map(({ phone = '' }) => identifyPerson(phone))}::text[],
      ${times}::timestamptz[]) with ordinality as given (tenant_id, phone_number_id, recipient, at, place)
    join conversations using (tenant_id, phone_number_id, recipient)
    where at < moved_at`
  return new Map(rows.map(({ place, recipient }) => [named[place - 1] as Named, recipient]))
}

/** Learns who has a user id that a status names alone: the number that its message went to. */
const findReached = async (tx: Tx, statuses: SignedFacts['statuses']): Promise<Sighting[]> => {
  const unknown = statuses.filter(({ phone, userId }) => phone === undefined && userId !== undefined)
  if (unknown.length === 0) return []
  const [tenants, numbers, ids, users] = toColumns(unknown, 'tenant', 'phoneNumberId', 'providerMessageId', 'userId')
  return prepared<Sighting>(tx, 'find_reached')`
    select tenant_id as tenant, given.user_id as "userId", m.recipient
    from unnest(${tenants}::text[], ${numbers}::text[], ${ids}::text[], ${users}::text[])
      as given (tenant_id, phone_number_id, provider_message_id, user_id)
    join messages m using (tenant_id, phone_number_id, provider_message_id)
    where m.recipient not like '%.%' and not exists (
      select from identities i where i.tenant_id = given.tenant_id and i.user_id = given.user_id
        and i.recipient not like '%.%')`
}
