import { readFileSync } from 'node:fs'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { createNotifierFile } from '../capabilities.ts'
import type { Tx } from '../core/database/tables.ts'
import type { Rule } from '../core/events/queries.ts'
import { applyRules } from '../core/provisioning/apply-rules.ts'
import { checkFile } from '../core/provisioning/check-file.ts'
import { loaded } from './queue.ts'

/** Describes the company file of the capabilities that the running test loads. */
export const notifierFile = createNotifierFile(loaded)

const secrets = { DEMO_ACCESS_TOKEN: 'demo-access-token', DEMO_APP_SECRET: 'demo-app-secret' }

/** Returns examples/demo-notifier.json with these rules, or with its own; without costs it has no tariffs. */
export const demoFile = (rules?: unknown[]) => {
  const path = new URL('../../../examples/demo-notifier.json', import.meta.url)
  const { tariffs, ...file } = JSON.parse(readFileSync(path, 'utf8'))
  return { ...file, ...(loaded.has('costs') && { tariffs }), ...(rules && { rules }) }
}

export const checkDemo = (rules?: unknown[]) => checkFile(demoFile(rules), secrets, notifierFile)

/** Stores these rules, or the rules of examples/demo-notifier.json, for a tenant. */
export const giveRules = async (pool: pg.Pool, rules?: unknown[], tenant = 'demo'): Promise<void> => {
  const checked = checkDemo(rules)
  if (checked.kind === 'refused') throw new Error(JSON.stringify(checked.errors))
  const applied = await inTenant(pool, tenant, (tx: Tx) => applyRules(tx, tenant, checked.file.rules))
  if (applied.kind === 'refused') throw new Error(JSON.stringify(applied.errors))
}

/** Builds a rule that sends `order_delivered` once the order is delivered. */
export const ruleOf = (more: Partial<Rule> = {}): Rule => ({
  event: 'key_13',
  text: null,
  template: 'order_delivered',
  language: 'en_US',
  header: [],
  body: ['{{customer_name}}'],
  components: [],
  phone_number_id: null,
  holds_until_open: false,
  send_between: null,
  supersedes: [],
  expires_after_hours: null,
  pauses_on_category_change: false,
  paused_reason: null,
  within_minutes: null,
  ...more,
})

/** Joins what happens to a person's parcels within 20 minutes into one message. */
export const perPerson = {
  on: 'key_12',
  template: 'order_delivered',
  language: 'en_US',
  body: ['{{count}}', '{{waybill_numbers}} {{cod}}'],
  per: 'person',
  within: '20m',
}
