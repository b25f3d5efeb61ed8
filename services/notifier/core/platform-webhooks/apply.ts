import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { CommitInDoubt, retryDeadlocks } from '@courier/shared/postgres/database.ts'
import { batchRequests, countWithin } from '@courier/shared/postgres/request-batcher.ts'
import type { Tracer } from '@courier/shared/traces.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { isOpen } from '../conversations/conversation.ts'
import { type InboundMessage, insertInbound } from '../conversations/inbound-messages.ts'
import { findKeyword } from '../conversations/keywords.ts'
import { findKeywords, findMoved, type Inbound, recordInbound, releaseHeld } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { logCategory, reportCategories } from '../templates/category-changes.ts'
import { reportTemplates } from '../templates/queries.ts'
import type { EchoFact, InboundFact } from './envelope.ts'
import { choosePlanning, lockMessages } from './message-queries.ts'
import { listOwners, recognise } from './recognise.ts'
import { settleMessages } from './settle-messages.ts'
import {
  type Known,
  type Said,
  type SignedFacts,
  type SignedWebhook,
  sortFacts,
  type TenantFact,
} from './signed-facts.ts'
import type { WebhookPoint } from './webhook-point.ts'

/** Counts the facts of a transaction and their effects, with those of capabilities. */
export type Applied = Awaited<ReturnType<typeof apply>> & Readonly<Record<string, number>>

export interface ApplyOptions {
  /** Opens the payloads of buttons with actions; without a keyring no press has an action. */
  readonly keyring?: Keyring | undefined
  readonly logger: Logger
  readonly tracer?: Tracer | undefined
  readonly points?: readonly WebhookPoint[] | undefined
}

/** Limits the transactions at once; the larger number applies while `manyFacts` or more wait. */
const fewLanes = 2
const manyLanes = 6
const manyFacts = 100
const maxFactsPerTransaction = 1_000

type WebhookResult = PromiseSettledResult<Applied | undefined>

/**
 * Creates the function that applies a webhook to the numbers whose secrets signed it; webhooks that arrive together
 * share a transaction. It resolves after the commit: with the effects of the transaction, or with undefined if another
 * webhook of the transaction reports them. A repeated webhook changes nothing. With a transaction for each webhook,
 * 0.36 times the updates a second were applied if a webhook had one, 0.66 times if it had ten.
 */
export const createApplier = (pool: pg.Pool, options: ApplyOptions) => {
  const batched = batchRequests<SignedWebhook, WebhookResult>({
    run: (_key, webhooks) => applyGroup(pool, webhooks, options),
    take: waiting => countWithin(waiting, maxFactsPerTransaction, ({ facts }) => facts.length),
    lanes: waiting => (waiting.reduce((sum, { facts }) => sum + facts.length, 0) >= manyFacts ? manyLanes : fewLanes),
  })
  return async (webhook: SignedWebhook): Promise<Applied | undefined> => {
    const result = await batched('all tenants', webhook)
    if (result.status === 'rejected') throw result.reason
    return result.value
  }
}

/** Applies webhooks in one transaction; if it fails, applies each alone, unless its commit is in doubt. */
const applyGroup = async (
  pool: pg.Pool,
  webhooks: readonly SignedWebhook[],
  options: ApplyOptions,
): Promise<WebhookResult[]> => {
  const facts = sortFacts(webhooks)
  // Other parts of the service lock messages too.
  const applying = retryDeadlocks(() => inAllTenants(pool, (tx: Tx) => apply(tx, facts, options)))
  const [result] = await Promise.allSettled([applying])
  if (result.status === 'fulfilled')
    return webhooks.map((_, index) => (index === 0 ? result : { status: 'fulfilled', value: undefined }))
  if (webhooks.length === 1 || result.reason instanceof CommitInDoubt) return webhooks.map(() => result)
  const results: WebhookResult[] = []
  for (const webhook of webhooks) results.push(...(await applyGroup(pool, [webhook], options)))
  return results
}

/** Applies facts. Every transaction locks in this order: docs/contributors/decisions.md#order-of-locks. */
const apply = async (tx: Tx, facts: SignedFacts, options: ApplyOptions) => {
  choosePlanning(tx, facts.statuses.length, facts.inbound.length + facts.preferences.length + facts.owners.length)
  const { points = [] } = options
  const steps = points.flatMap(({ begin }) => begin?.(tx, facts, options.keyring) ?? [])
  const onMoved = points.flatMap(point => point.onMoved ?? [])
  const people = await recognise(tx, facts, steps, onMoved)
  const said = await findSaid(tx, people.inbound)
  const { writers, now } = await openConversations(tx, said, people)
  const handled = steps.map(({ takeSaid }) => takeSaid?.(said, now))
  await insertInbound(tx, [
    ...said.map(fact =>
      toReadable(
        fact,
        handled.some(some => some?.has(fact)),
      ),
    ),
    ...people.echoes.map(toEcho),
  ])
  const { statuses } = facts
  const locked = statuses.length + writers.length > 0 ? await lockMessages(tx, statuses, writers) : []
  const { moved, unmatched } = await settleMessages(tx, locked, statuses, options)
  const released = await releaseHeld(tx, writers)
  for (const { store } of steps) await store?.()
  const templates = facts.templates.length > 0 ? await reportTemplates(tx, facts.templates) : 0
  const categories = facts.categories.length > 0 ? await reportCategories(tx, facts.categories) : []
  const added: Readonly<Record<string, number>>[] = []
  for (const { finish } of steps) if (finish) added.push(await finish())
  categories.forEach(logCategory(options.logger))
  return {
    statuses: statuses.length,
    moved,
    /** Counts the statuses that match none of our messages. */
    unmatched,
    inbound: facts.inbound.length,
    preferences: facts.preferences.length,
    released,
    templates: templates + categories.length,
    /** Counts the approvals of templates: the catalogues of their accounts are due for a sync. */
    approved: facts.templates.filter(({ status }) => status === 'APPROVED').length,
    /** Counts facts about numbers and accounts that are not ours, or that another secret should have signed. */
    foreign: facts.foreign,
    ...(Object.assign({}, ...added) as object),
  }
}

const findSaid = async (tx: Tx, inbound: readonly Known<TenantFact<InboundFact>>[]): Promise<Said[]> => {
  if (inbound.length === 0) return []
  const keywords = await findKeywords(tx, [...new Set(inbound.map(({ tenant }) => tenant))])
  return inbound.map(fact => {
    const ofTenant = keywords.get(fact.tenant)
    return { ...fact, keyword: ofTenant && findKeyword([fact.text, ...fact.buttons], ofTenant) }
  })
}

/** Returns the message for staff. Opt-outs, opt-ins and presses that act are handled; "no thanks" is not. */
const toReadable = ({ keyword, text, label, ...said }: Said, acts: boolean): InboundMessage => ({
  ...said,
  text: (text ?? label)?.trim(),
  isHandled: keyword === 'stop' || keyword === 'start' || acts,
})

const toEcho = ({ text, label, ...echo }: Known<TenantFact<EchoFact>>): InboundMessage => ({
  ...echo,
  text: (text ?? label)?.trim(),
  isHandled: true,
  isEcho: true,
})

const platform = { kind: 'platform', name: 'webhook' } as const

/** Stores what people wrote and want, and who answers. Returns those with open conversations, and Postgres' time. */
const openConversations = async (tx: Tx, said: readonly Said[], people: Awaited<ReturnType<typeof recognise>>) => {
  const messages = said.map(({ keyword, ...fact }): Inbound => {
    const by = { kind: 'customer', name: fact.buttons.length > 0 ? 'button' : 'message' } as const
    const choice = keyword === 'no thanks' ? ({ keyword: 'stop', scope: 'marketing' } as const) : { keyword }
    const { isStandby } = fact
    return { ...fact, ...choice, by, ...(isStandby !== undefined && { owner: isStandby ? 'other' : 'ours' }) }
  })
  const choices = people.preferences.map(({ isStopped, source, ...fact }): Inbound => {
    const by = { kind: 'platform', name: source } as const
    return { ...fact, keyword: isStopped ? 'stop' : 'start', scope: 'marketing', by }
  })
  const owners = listOwners(people).map((fact): Inbound => ({ ...fact, by: platform }))
  const heard = await recordInbound(tx, [...messages, ...choices, ...owners])
  const known = [...heard, ...(await findMoved(tx, people.moved))]
  const writers = known.filter(({ lastInboundAt, now }) => isOpen(lastInboundAt, now))
  return { writers, now: known[0]?.now }
}
