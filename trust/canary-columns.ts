import type pg from 'pg'
import { findIn } from './canary-set.ts'

/** The columns that are meant to hold a canary, and which. */
export const meant: Readonly<Record<string, readonly string[]>> = {
  'orders.orders.customer_name': ['name'],
  'orders.orders.customer_address': ['address'],
  'orders.orders.customer_phone': ['phone'],
  'orders.orders.phone_key': ['phone'],
  'orders.orders.customer_secondary_phone': ['secondaryPhone'],
  'orders.orders.customer_email': ['email'],
  'orders.orders.description': ['description'],
  'orders.orders.remark': ['remark'],
  'orders.tokens.staff_name': ['staffName'],
  'notifier.audit.actor': ['staffName'],
  'notifier.messages.recipient': ['recipient', 'writer'],
  'notifier.messages.template': ['parameter'],
  'notifier.recipients.recipient': ['recipient', 'writer'],
  'notifier.conversations.recipient': ['recipient', 'writer'],
  'notifier.tokens.staff_name': ['staffName'],
}

export interface Column {
  /** service.table.column */
  name: string
  /** The canaries that it holds. */
  found: string[]
}

/** Every column of every table with the canaries in it. */
export const searchColumns = async (
  superuser: pg.Client,
  service: string,
  canaries: Record<string, string>,
): Promise<Column[]> => {
  const { rows: columns } = await superuser.query(
    `select relname as table, attname as column from pg_class join pg_attribute on attrelid = pg_class.oid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'm') and attnum > 0 and not attisdropped`,
  )
  const searched: Column[] = []
  for (const { table, column } of columns) {
    const { rows } = await superuser.query({ text: `select "${column}" from "${table}"`, rowMode: 'array' })
    const text = rows.map(([value]) => textOf(value)).join('\n')
    searched.push({ name: `${service}.${table}.${column}`, found: findIn(text, canaries) })
  }
  return searched
}

const textOf = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('latin1') : typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
