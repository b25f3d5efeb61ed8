import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import { findWords, type Inbound, type Person, recordInbound } from '../conversations/queries.ts'
import { releaseHeldFor } from '../conversations/release-held.ts'
import { isOpen } from '../conversations/window.ts'
import { wishOf } from '../conversations/wish.ts'
import type { Tx } from '../database/tables.ts'
import { reportTemplates } from '../templates/queries.ts'
import type { Fact, InboundFact, StatusFact, TemplateFact } from './envelope.ts'
import { lockMessages, planAnew } from './message-queries.ts'
import { type ReportedFailure, type Sighting, settleMessages } from './settle-messages.ts'
import type { Channel } from './verify.ts'

/** What a call came to. */
export interface Applied {
  readonly statuses: number
  /** Statuses that changed a message. */
  readonly moved: number
  /** Statuses of messages that are not ours. */
  readonly unmatched: number
  readonly inbound: number
  /** Messages that were held until a person wrote. */
  readonly released: number
  /** Template events that changed the catalogue. */
  readonly templates: number
  /** Facts about numbers and accounts that are not ours, or that another secret should have signed. */
  readonly foreign: number
}

export interface ApplyOptions {
  /** Told of messages that failed after they were accepted, before the commit. */
  readonly onFailures?: ((tx: Tx, failures: readonly ReportedFailure[]) => Promise<void>) | undefined
}

/** What one call says, and the numbers that signed it. */
export interface Call {
  readonly signers: readonly Channel[]
  readonly facts: readonly Fact[]
}

/** Applies the facts of calls, each about the numbers that signed it, in one transaction. Repeating changes nothing. */
export const applyCalls = async (
  pool: pg.Pool,
  calls: readonly Call[],
  now: Date,
  options: ApplyOptions = {},
): Promise<Applied> => {
  const own = new Facts()
  for (const call of calls) own.add(call)
  const total = calls.reduce((sum, { facts }) => sum + facts.length, 0)
  const action = (tx: Tx): Promise<Applied> => apply(tx, own, total, now, options)
  for (let tries = 1; ; tries++) {
    try {
      return await inTenant(pool, '*', action)
    } catch (error) {
      if (tries === 3 || (error as { code?: unknown }).code !== deadlockDetected) throw error
    }
  }
}

/** Other parts of the service lock messages too. */
const deadlockDetected = '40P01'

/** Conversations before messages before templates: every call locks in this order. */
const apply = async (tx: Tx, own: Facts, total: number, now: Date, options: ApplyOptions): Promise<Applied> => {
  planAnew(tx)
  const writers = await openConversations(tx, own.inbound, now)
  const locked =
    own.statuses.length + writers.length > 0
      ? await lockMessages(
          tx,
          own.statuses.map(({ reference }) => reference),
          writers,
        )
      : []
  const { moved, unmatched, failures } = await settleMessages(tx, locked, own.statuses)
  const released = await releaseHeldFor(tx, writers)
  const templates = own.templates.length > 0 ? await reportTemplates(tx, own.templates) : 0
  if (failures.length > 0) await options.onFailures?.(tx, failures)
  return {
    statuses: own.statuses.length,
    moved,
    unmatched,
    inbound: own.inbound.length,
    released,
    templates,
    foreign: total - own.count,
  }
}

/** Returns the people who may be written to now. */
const openConversations = async (
  tx: Tx,
  inbound: readonly { person: Person; fact: InboundFact }[],
  now: Date,
): Promise<Person[]> => {
  if (inbound.length === 0) return []
  const words = await findWords(tx, [...new Set(inbound.map(({ person }) => person.tenant))])
  const messages = inbound.map(({ person, fact }): Inbound => {
    const ofTenant = words.get(person.tenant)
    return { ...person, at: fact.at, wish: ofTenant && wishOf([fact.text, fact.button], ofTenant) }
  })
  const people = await recordInbound(tx, messages)
  return people.filter(person => isOpen(person.lastInboundAt, now) && person.optedOutAt === null)
}

/** The facts of calls about the numbers and accounts that signed each. */
class Facts {
  readonly statuses: Sighting[] = []
  readonly inbound: { person: Person; fact: InboundFact }[] = []
  readonly templates: (TemplateFact & { tenant: string })[] = []
  count = 0

  add({ signers, facts }: Call): void {
    const numbers = new Map(signers.map(channel => [channel.phoneNumberId, channel]))
    const accounts = Map.groupBy(signers, channel => channel.wabaId)
    for (const fact of facts) {
      const isOwn =
        fact.kind === 'template'
          ? this.#addTemplate(fact, accounts.get(fact.wabaId))
          : this.#addOfNumber(fact, numbers.get(fact.phoneNumberId))
      if (isOwn) this.count++
    }
  }

  #addOfNumber(fact: StatusFact | InboundFact, channel: Channel | undefined): boolean {
    if (!channel) return false
    const { tenant, phoneNumberId } = channel
    if (fact.kind === 'inbound') this.inbound.push({ person: { tenant, phoneNumberId, recipient: fact.from }, fact })
    else this.statuses.push(sighting(tenant, fact))
    return true
  }

  #addTemplate(fact: TemplateFact, ofAccount: readonly Channel[] = []): boolean {
    const tenants = new Set(ofAccount.map(({ tenant }) => tenant))
    for (const tenant of tenants) this.templates.push({ ...fact, tenant })
    return tenants.size > 0
  }
}

const sighting = (tenant: string, fact: StatusFact): Sighting => {
  const { phoneNumberId, callbackData, providerMessageId, status, at } = fact
  const error = status === 'failed' ? fact.errors?.[0] : undefined
  return {
    reference: { tenant, phoneNumberId, messageId: callbackData, providerMessageId },
    report: {
      status,
      at,
      providerMessageId,
      errorCode: error?.code ?? null,
      errorMeaning: status === 'failed' ? (error?.title ?? 'The messaging API gave no reason.') : null,
    },
  }
}
