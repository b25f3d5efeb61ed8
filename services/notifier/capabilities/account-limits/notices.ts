import { query } from '@courier/shared/postgres/database.ts'
import { oneOf, Time } from '@courier/shared/schemas.ts'
import { Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import { utc } from '../../core/channels/view.ts'
import type { Tx } from '../../core/database/tables.ts'

/** `quality` and `throughput` concern a number, `template` one template, `account` all of the account. */
const noticeKinds = ['quality', 'throughput', 'account', 'template'] as const

/** Shows the last news of the platform about a number's account: one for each number, template and kind. */
const NoticeView = Type.Object(
  {
    kind: oneOf(noticeKinds),
    is_problem: Type.Boolean(),
    text: Type.String({ examples: ['The quality of +94 11 755 5000 is GREEN.'] }),
    at: Time(),
  },
  { title: 'AccountNotice' },
)

export const noticesField = Type.Array(NoticeView, {
  description: 'The last news of the platform about the account, newest first.',
})

const mostNotices = 20

export const selectNotices = sql`
  (select coalesce(json_agg(json_build_object('kind', n.kind, 'is_problem', n.is_problem, 'text', n.text,
    'at', ${utc('n.happened_at')}) order by n.happened_at desc), '[]') from (
      select * from account_notices n where n.tenant_id = c.tenant_id and n.waba_id = c.waba_id
      order by n.happened_at desc limit ${mostNotices}) n)`

export interface Notice {
  readonly tenant: string
  readonly wabaId: string
  readonly kind: (typeof noticeKinds)[number]
  /** Names the number or template; empty for the account. */
  readonly subject: string
  readonly isProblem: boolean
  readonly text: string
  readonly at: Date
}

/** Stores news; older news than those stored change nothing. */
export const storeNotices = async (tx: Tx, notices: readonly Notice[]): Promise<void> => {
  if (notices.length === 0) return
  await query(tx)`
    insert into account_notices as known (tenant_id, waba_id, kind, subject, is_problem, text, happened_at)
    select distinct on (tenant, "wabaId", kind, subject) tenant, "wabaId", kind, subject, "isProblem", text, at
    from jsonb_to_recordset(${JSON.stringify(notices)}::jsonb) as given (tenant text, "wabaId" text, kind text,
      subject text, "isProblem" boolean, text text, at timestamptz)
    order by tenant, "wabaId", kind, subject, at desc
    on conflict (tenant_id, waba_id, kind, subject) do update set is_problem = excluded.is_problem,
      text = excluded.text, happened_at = excluded.happened_at
    where known.happened_at <= excluded.happened_at`
}
