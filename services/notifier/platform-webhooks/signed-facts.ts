import type { Person } from '../conversations/queries.ts'
import type { CategoryFact } from './category-change.ts'
import type { Fact, InboundFact, PreferenceFact, StatusFact, TemplateFact } from './envelope.ts'
import type { Sighting } from './settle-messages.ts'
import type { Channel } from './verify.ts'

/** The facts of one webhook request, and the numbers whose secret signed it. */
export interface SignedWebhook {
  readonly signers: readonly Channel[]
  readonly facts: readonly Fact[]
}

/** The facts of webhooks about the numbers and accounts that signed each. */
export class SignedFacts {
  readonly statuses: Sighting[] = []
  readonly inbound: { person: Person; fact: InboundFact }[] = []
  readonly preferences: { person: Person; fact: PreferenceFact }[] = []
  readonly templates: (TemplateFact & { tenant: string })[] = []
  readonly categories: (CategoryFact & { tenant: string })[] = []
  count = 0

  add({ signers, facts }: SignedWebhook): void {
    const numbers = new Map(signers.map(channel => [channel.phoneNumberId, channel]))
    const accounts = Map.groupBy(signers, channel => channel.wabaId)
    for (const fact of facts) {
      const isOwn =
        fact.kind === 'template' || fact.kind === 'category'
          ? this.#addTemplate(fact, accounts.get(fact.wabaId))
          : this.#addOfNumber(fact, numbers.get(fact.phoneNumberId))
      if (isOwn) this.count++
    }
  }

  #addOfNumber(fact: StatusFact | InboundFact | PreferenceFact, channel: Channel | undefined): boolean {
    if (!channel) return false
    const { tenant, phoneNumberId } = channel
    const personOf = (recipient: string): Person => ({ tenant, phoneNumberId, recipient })
    if (fact.kind === 'inbound') this.inbound.push({ person: personOf(fact.from), fact })
    else if (fact.kind === 'preference') this.preferences.push({ person: personOf(fact.from), fact })
    else this.statuses.push(sighting(tenant, fact))
    return true
  }

  #addTemplate(fact: TemplateFact | CategoryFact, ofAccount: readonly Channel[] = []): boolean {
    const tenants = new Set(ofAccount.map(({ tenant }) => tenant))
    for (const tenant of tenants)
      if (fact.kind === 'template') this.templates.push({ ...fact, tenant })
      else this.categories.push({ ...fact, tenant })
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
      // The platform bills delivered messages; `sent` carries the price in advance.
      pricing: status === 'delivered' || status === 'read' ? fact.pricing : undefined,
    },
  }
}
