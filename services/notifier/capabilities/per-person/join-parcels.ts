import { prepared, type Tx, toColumns } from '../../core/database/tables.ts'
import { type Content, isPlain, mapTexts } from '../../core/messaging-api/message-template.ts'
import type { ClaimedMessage } from '../../core/sending/message.ts'

/** Keeps only the oldest of the messages that may leave as one; the others stay queued for `joinParcels`. */
export const keepOldest = (messages: readonly ClaimedMessage[]): ClaimedMessage[] => {
  const known = new Set<string>()
  return messages.filter(({ tenant, phoneNumberId, recipient, joins, isExempt }) => {
    if (joins === null) return true
    const key = JSON.stringify([tenant, phoneNumberId, recipient, joins, isExempt])
    return known.size < known.add(key).size
  })
}

/** Limits the messages that join one. */
const maxJoining = 100

type Joining = { readonly key: string; readonly waybill: string; readonly template: Content }

/**
 * Joins the queued messages of the same rule to the same person to those that are being sent, due or not, and fills in
 * `{{count}}` and `{{waybill_numbers}}`; the rest of the content is the newest message's. A message whose parcel has an
 * earlier one that has not left does not join. Skips locked messages: they leave later.
 */
export const joinParcels = async (tx: Tx, messages: readonly ClaimedMessage[]): Promise<readonly ClaimedMessage[]> => {
  const carriers = messages.filter(({ joins }) => joins !== null)
  if (carriers.length === 0) return messages
  const ofCarrier = Map.groupBy(await lockJoining(tx, carriers), ({ key }) => key)
  const joint = carriers.map(message => fillJoint(message, ofCarrier.get(toKey(message)) ?? []))
  await storeSent(tx, joint)
  return [...messages.filter(({ joins }) => joins === null), ...joint]
}

const fillJoint = (message: ClaimedMessage, joined: readonly Joining[]) => {
  const parcels = [...new Set([message.waybillNumber ?? '', ...joined.map(({ waybill }) => waybill)])]
  const template = fillGroup(joined.at(-1)?.template ?? message.template, parcels)
  return { ...message, template, detail: joined.length > 0 ? `one message about ${listWaybills(parcels)}` : null }
}

/** Limit the characters of a list of waybills: a filled header has at most 60 characters, a body 1,024. */
const maxListed = { header: 40, body: 300 }

/** Lists as many waybills as fit, and says how many more there are. */
const listWaybills = (waybills: readonly string[], most = maxListed.body, language = 'en'): string => {
  const write = (count: number): string => {
    const left = waybills.length - count
    const more = language.startsWith('en') ? ` and ${left} more` : ` +${left}`
    return waybills.slice(0, count).join(', ') + (left > 0 ? more : '')
  }
  let count = waybills.length
  while (count > 1 && write(count).length > most) count--
  return write(count)
}

/** Fills in what a message says about all its parcels. */
const fillGroup = (content: Content, waybills: readonly string[]): Content => {
  const language = isPlain(content) ? 'en' : content.language.code
  const replace = (text: string, most: number): string =>
    text
      .replaceAll('{{count}}', String(waybills.length))
      .replaceAll('{{waybill_numbers}}', () => listWaybills(waybills, most, language))
  if (isPlain(content)) return { ...content, text: replace(content.text, maxListed.body) }
  const components = content.components.map(component => {
    const most = component.type === 'header' ? maxListed.header : maxListed.body
    const parameters = component.parameters.map(each => mapTexts(component, each, ({ text }) => replace(text, most)))
    return { ...component, parameters }
  })
  return { ...content, components }
}

const toKey = ({ tenant, id }: ClaimedMessage): string => `${tenant} ${id}`

const lockJoining = (tx: Tx, carriers: readonly ClaimedMessage[]): Promise<Joining[]> => {
  const [tenants, ids] = toColumns(carriers, 'tenant', 'id')
  return prepared<Joining>(tx, 'join_parcels')`
    with joining as (
      select carrier.tenant_id, carrier.message_id as joined_to, carrier.due_at as sent_by, other.*
      from unnest(${tenants}::text[], ${ids}::text[]) as given (tenant_id, message_id)
      join messages carrier using (tenant_id, message_id)
      cross join lateral (
        select m.message_id, m.template, m.waybill_number from messages m
        where m.tenant_id = carrier.tenant_id and m.phone_number_id = carrier.phone_number_id
          and m.recipient = carrier.recipient and m.joins = carrier.joins and m.is_exempt = carrier.is_exempt
          and m.status = 'queued' and m.message_id > carrier.message_id
          and m.superseded_by is null and m.expires_at > now()
          and not exists (
            select from messages e
            where e.tenant_id = m.tenant_id and e.waybill_number = m.waybill_number
              and e.phone_number_id = m.phone_number_id and e.recipient = m.recipient
              and (e.created_at, e.message_id) < (m.created_at, m.message_id) and e.joins is distinct from m.joins
              and (e.status in ('queued', 'sending') or e.status = 'unknown' and e.due_at < 'infinity'))
        order by m.message_id limit ${maxJoining}::integer
        for update skip locked
      ) other
    ), joined as (
      update messages m set status = 'sending', status_at = now(), due_at = joining.sent_by, fence = m.fence + 1,
        joined_to = joining.joined_to
      from joining where m.tenant_id = joining.tenant_id and m.message_id = joining.message_id
    )
    select tenant_id || ' ' || joined_to as key, template, waybill_number as waybill from joining order by message_id`
}

const storeSent = (tx: Tx, joint: readonly ReturnType<typeof fillJoint>[]) => {
  const [tenants, ids, templates, details] = toColumns(joint, 'tenant', 'id', 'template', 'detail')
  return prepared(tx, 'store_sent')`
    with stored as (
      update messages m set sent_content = given.template
      from unnest(${tenants}::text[], ${ids}::text[], ${templates}::jsonb[]) as given (tenant_id, message_id, template)
      where m.tenant_id = given.tenant_id and m.message_id = given.message_id
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select tenant_id, message_id, 'sending', detail
    from unnest(${tenants}::text[], ${ids}::text[], ${details}::text[]) as given (tenant_id, message_id, detail)
    where detail is not null`
}

/** Makes earlier messages that wait for other parcels leave no later than the messages of a later event. */
export const endWindows = async (
  tx: Tx,
  tenant: string,
  later: readonly { waybill: string; before: string }[],
): Promise<void> => {
  const [waybills, ids] = toColumns(later, 'waybill', 'before')
  await prepared(tx, 'end_windows')`
    with later as (
      select waybill, before, min(m.due_at) as due_at
      from unnest(${waybills}::text[], ${ids}::text[]) as given (waybill, before) join messages m
        on m.tenant_id = ${tenant} and m.waybill_number = waybill and m.message_id >= before and m.status = 'queued'
      group by waybill, before
    ), locked as (
      select m.message_id, m.waybill_number, m.created_at < now() as is_older from messages m
      where tenant_id = ${tenant} and waybill_number = any(${waybills}::text[])
        and joins is not null and status = 'queued'
      order by message_id for update
    )
    update messages m set due_at = ending.due_at, send_at = ending.due_at
    from (
      select message_id, min(due_at) as due_at from locked
      join later on waybill = waybill_number and (is_older or message_id < before)
      group by message_id
    ) ending
    where m.tenant_id = ${tenant} and m.message_id = ending.message_id and m.due_at > ending.due_at`
}
