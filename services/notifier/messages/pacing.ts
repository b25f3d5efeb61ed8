import type { Tx } from '../database/tables.ts'
import type { Due } from './claim.ts'

/**
 * Gives each message its place in its recipient's row of messages, `pairSeconds` apart, and returns those whose place is
 * now. The others are put back until theirs; waiting does not count as an attempt. Several processes may do this at the
 * same time: the places come from one row per recipient.
 */
export const reservePlaces = async (tx: Tx, claimed: readonly Due[], pairSeconds: number): Promise<Due[]> => {
  const newcomers = claimed.filter(message => !message.isPaced)
  if (pairSeconds === 0 || newcomers.length === 0) return [...claimed]
  const groups = Map.groupBy(newcomers, message => `${message.phoneNumberId} ${message.recipient}`)
  const sorted = [...groups.keys()].sort().map(key => groups.get(key) ?? [])
  const waits = await reserve(tx, sorted, pairSeconds)
  const late = new Map<string, { message: Due; waitSeconds: number }>()
  for (const [g, group] of sorted.entries())
    for (const [place, message] of group.entries()) {
      const waitSeconds = (waits[g] ?? 0) + place * pairSeconds
      if (waitSeconds > 0.001) late.set(message.id, { message, waitSeconds })
    }
  await putBack(tx, [...late.values()])
  return claimed.filter(message => !late.has(message.id))
}

/** Seconds until the first place of each group. */
const reserve = async (tx: Tx, groups: Due[][], pairSeconds: number): Promise<number[]> => {
  const { rows } = await tx.client.query({
    name: 'reserve_places',
    text: `
      insert into recipients (tenant_id, phone_number_id, recipient, next_send_at)
      select tenant_id, phone_number_id, recipient, now() + make_interval(secs => seconds)
      from unnest($1::text[], $2::text[], $3::text[], $4::double precision[])
        as wanted (tenant_id, phone_number_id, recipient, seconds)
      on conflict (tenant_id, phone_number_id, recipient) do update
        set next_send_at = greatest(recipients.next_send_at, now()) + (excluded.next_send_at - now())
      returning phone_number_id || ' ' || recipient as key,
        extract(epoch from next_send_at - now())::double precision as seconds`,
    values: [
      groups.map(([first]) => first?.tenant),
      groups.map(([first]) => first?.phoneNumberId),
      groups.map(([first]) => first?.recipient),
      groups.map(group => group.length * pairSeconds),
    ],
  })
  const until = new Map<string, number>(rows.map(row => [row.key, row.seconds]))
  return groups.map(group => {
    const [first] = group
    return (until.get(`${first?.phoneNumberId} ${first?.recipient}`) ?? 0) - group.length * pairSeconds
  })
}

const putBack = async (tx: Tx, late: { message: Due; waitSeconds: number }[]): Promise<void> => {
  if (late.length === 0) return
  await tx.client.query({
    name: 'put_back',
    text: `
      update messages m set due_at = now() + make_interval(secs => late.seconds), is_paced = true
      from unnest($1::text[], $2::text[], $3::double precision[]) as late (tenant_id, message_id, seconds)
      where m.tenant_id = late.tenant_id and m.message_id = late.message_id`,
    values: [
      late.map(({ message }) => message.tenant),
      late.map(({ message }) => message.id),
      late.map(({ waitSeconds }) => waitSeconds),
    ],
  })
}
