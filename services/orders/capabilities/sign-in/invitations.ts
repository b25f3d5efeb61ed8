import { randomBytes } from 'node:crypto'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { hashToken } from '@courier/shared/postgres/tokens.ts'
import type { FastifyBaseLogger } from 'fastify'
import { createTransport } from 'nodemailer'
import type { Tx } from '../../core/database/tables.ts'
import type { Side } from './sides.ts'

const invitationHours = 72

export const newCode = (): string => randomBytes(32).toString('base64url')

/** Makes a code that sets a password once, within 72 hours; earlier ones of the person end. */
export const makeInvitation = async (tx: Tx, tenant: string, side: Side, id: string, by: Actor, isRecovery = false) => {
  const code = newCode()
  await endInvitations(tx, tenant, side, id)
  const [row] = await tx.rows<{ at: Date }>(
    `insert into invitations (tenant_id, hash, ${side.column}, is_recovery, made_by, expires_at)
    values ($1, $2, $3::bigint, $4, $5, now() + interval '${invitationHours} hours')
    returning expires_at as at`,
    [tenant, hashToken(code), id, isRecovery, by.name],
  )
  return { code, expires_at: row?.at.toISOString() ?? '' }
}

export const endInvitations = (tx: Tx, tenant: string, { column }: Pick<Side, 'column'>, id: string) =>
  tx.client.query(`delete from invitations where tenant_id = $1 and ${column} = $2::bigint and used_at is null`, [
    tenant,
    id,
  ])

export interface Invitation {
  readonly staff_id: string | null
  readonly person_id: string | null
  readonly is_recovery: boolean
}

/** Finds an unused invitation of an active person; `isUse` uses it. */
export const findInvitation = async (tx: Tx, tenant: string, code: string, isUse: boolean) => {
  const values = [tenant, hashToken(code)]
  const [found] = await tx.rows<Invitation>(invitationSql, values)
  if (!found || !isUse) return found
  const { rowCount } = await tx.client.query(useSql, values)
  return rowCount === 1 ? found : undefined
}

const invitationSql = `
  select staff_id::text, person_id::text, is_recovery from invitations
  where tenant_id = $1 and hash = $2 and used_at is null and expires_at > now()`
const useSql = `
  update invitations set used_at = now() where tenant_id = $1 and hash = $2 and used_at is null and expires_at > now()`

export const deleteOldInvitations = deleteWhere('invitations', `expires_at < now() - interval '40 days'`)

export interface Pages {
  /** Lists the origins of the console, comma-separated. */
  readonly portalOrigins?: string | undefined
}

/** Returns the page that opens a link: the console, or the desk or rider's page that orders serves. */
export const findPage = (
  { portalOrigins }: Pages,
  publicUrl: string,
  face: 'console' | 'desk' | 'rider',
  /** Chooses among the origins of the console. */
  origin?: string,
): string => {
  const origins = portalOrigins?.split(',') ?? []
  const chosen = origins.find(each => each === origin) ?? origins[0]
  if (face === 'console' && chosen) return `${chosen}/portal/`
  return `${publicUrl.replace(/\/$/, '')}/${face === 'console' ? 'portal' : face}/`
}

interface Letter {
  readonly to: string
  readonly company: string
  readonly url: string
}
const mailMilliseconds = 20_000

interface MailOptions {
  readonly smtpUrl?: string | undefined
  readonly mailFrom?: string | undefined
  readonly publicUrl?: string | undefined
}

/** Mails invitations; undefined without SMTP_URL. No request waits for the mail server. */
export const createMailer = ({ smtpUrl, mailFrom, publicUrl }: MailOptions) => {
  if (smtpUrl === undefined) return undefined
  const limits = { connectionTimeout: mailMilliseconds, socketTimeout: mailMilliseconds }
  const transport = createTransport({ url: smtpUrl, ...limits })
  const from = mailFrom ?? `courier@${new URL(publicUrl ?? 'http://localhost').hostname}`
  const mail = ({ to, company, url }: Letter, log: FastifyBaseLogger): void => {
    const text = `Open this link to sign in at ${company}. It works once, within ${invitationHours} hours.\n\n${url}\n`
    const subject = `Your access to ${company}`
    // The error of a mail server may name the recipient.
    transport.sendMail({ from, to, subject, text }).then(
      () => log.info('invitation.mailed'),
      ({ code, responseCode }) => log.warn({ code, response_code: responseCode }, 'invitation.not_mailed'),
    )
  }
  return { mail, close: async () => transport.close() }
}
export type Mailer = ReturnType<typeof createMailer>
