import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import { findWords, type Inbound, type Person, recordInbound } from '../conversations/queries.ts'
import { releaseHeldFor } from '../conversations/release-held.ts'
import { isOpen } from '../conversations/window.ts'
import { wishOf } from '../conversations/wish.ts'
import type { Tx } from '../database/tables.ts'
import { reportTemplates } from '../templates/queries.ts'
import type { Fact, InboundFact, StatusFact, TemplateFact } from './envelope.ts'
import { lockMessages } from './message-queries.ts'
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

/** Applies the facts of one call about the numbers that signed it, in one transaction. Repeating changes nothing. */
export const applyFacts = async (
  pool: pg.Pool,
  signers: readonly Channel[],
  facts: readonly Fact[],
  now: Date,
  options: ApplyOptions = {},
): Promise<Applied> => {
  const own = new Facts(signers, facts)
  const action = (tx: Tx): Promise<Applied> => apply(tx, own, facts.length, now, options)
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

/** The facts about the numbers and accounts that signed a call. */
class Facts {
  readonly statuses: Sighting[] = []
  readonly inbound: { person: Person; fact: InboundFact }[] = []
  readonly templates: (TemplateFact & { tenant: string })[] = []
  count = 0
  readonly #numbers: ReadonlyMap<string, Channel>
  /** Tenants by account. */
  readonly #accounts: ReadonlyMap<string | null, readonly Channel[]>

  constructor(signers: readonly Channel[], facts: readonly Fact[]) {
    this.#numbers = new Map(signers.map(channel => [channel.phoneNumberId, channel]))
    this.#accounts = Map.groupBy(signers, channel => channel.wabaId)
    for (const fact of facts) if (this.#add(fact)) this.count++
  }

  #add(fact: Fact): boolean {
    if (fact.kind === 'template') return this.#addTemplate(fact)
    const channel = this.#numbers.get(fact.phoneNumberId)
    if (!channel) return false
    const { tenant, phoneNumberId } = channel
    if (fact.kind === 'inbound') this.inbound.push({ person: { tenant, phoneNumberId, recipient: fact.from }, fact })
    else this.statuses.push(sighting(tenant, fact))
    return true
  }

  #addTemplate(fact: TemplateFact): boolean {
    const tenants = new Set(this.#accounts.get(fact.wabaId)?.map(channel => channel.tenant))
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
