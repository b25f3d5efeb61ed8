import type pg from 'pg'

export type Tenant = 'large' | 'small'

/** Maps each tenant to the id of the number that it sends from. */
export const phoneNumberIds: Record<Tenant, string> = { large: '106540352242922', small: '106540352242923' }

export const accessToken = 'demo-access-token'
export const appSecret = 'demo-app-secret'
export const apiPath = `/v17.0/${phoneNumberIds.large}/messages`

const text = (text: string) => ({ type: 'text', text })
const template = {
  name: 'order_created',
  language: { code: 'en_US' },
  components: [
    { type: 'header', parameters: [text('DM00000001')] },
    { type: 'body', parameters: ['Nimali', 'Lanka Shoes', '4500'].map(text) },
  ],
}

const firstRecipient = 94_700_000_000
const idDigits = 25

/** Returns the body that the notifier sends for the n-th message of a tenant, counted from 1. */
export const formatMessage = (position: number): string =>
  JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: String(firstRecipient + position),
    type: 'template',
    biz_opaque_callback_data: formatId(position),
    template,
  })

/** Returns our id of the n-th message of a tenant, counted from 1. */
export const formatId = (position: number): string => `msg_${String(position).padStart(idDigits, '0')}`

/** Inserts `count` messages with their first events, each to a different recipient, in one transaction. */
export const insertMessages = async (
  superuser: pg.Client,
  tenant: Tenant,
  count: number,
  status: 'queued' | 'accepted',
): Promise<void> => {
  await superuser.query({
    text: `
      with given as (
        select 'msg_' || lpad(position::text, $5, '0') as message_id, ($6::bigint + position)::text as recipient
        from generate_series(1, $3::integer) position
      ), inserted as (
        insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at,
          provider_message_id)
        select $1, message_id, $2, recipient, $4, $7, now(), now() + interval '24 hours',
          case when $7 = 'accepted' then 'wamid.' || message_id end
        from given
      )
      insert into message_events (tenant_id, message_id, status) select $1, message_id, $7 from given`,
    values: [tenant, phoneNumberIds[tenant], count, JSON.stringify(template), idDigits, firstRecipient, status],
  })
}

export const removeMessages = (superuser: pg.Client): Promise<unknown> =>
  superuser.query('truncate messages, message_events')

export const countAccepted = async (superuser: pg.Client): Promise<number> => {
  const { rows } = await superuser.query(`select count(*)::integer as count from messages where status = 'accepted'`)
  return rows[0].count
}
