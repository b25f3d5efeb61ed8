import type { KeywordChoice } from '../conversations/keywords.ts'
import type { Fact, InboundFact } from './envelope.ts'
import type { Channel } from './verify.ts'

/** Holds the facts of one webhook request, and the numbers whose secret signed it. */
export interface SignedWebhook {
  readonly signers: readonly Channel[]
  readonly facts: readonly Fact[]
}

export type TenantFact<F> = F & { readonly tenant: string }
export type Known<F> = F & { readonly recipient: string }
/** Is an inbound message with the keyword that it is, if any. */
export type Said = Known<TenantFact<InboundFact>> & { readonly keyword: KeywordChoice | undefined }

/** Sorts the webhooks' facts about the numbers and accounts whose secrets signed them; counts all other facts. */
export const sortFacts = (webhooks: readonly SignedWebhook[]) => {
  const signed: TenantFact<Fact>[] = []
  let foreign = 0
  for (const { signers, facts } of webhooks) {
    const numbers = Map.groupBy(signers, channel => channel.phoneNumberId)
    const accounts = new Map([
      ...Map.groupBy(signers, channel => channel.wabaId),
      // Tenants that only name an account learn nothing that its app signed for those whose account it is.
      ...Map.groupBy(
        signers.filter(({ isProved }) => isProved),
        channel => channel.wabaId,
      ),
    ])
    for (const fact of facts) {
      const channels = 'wabaId' in fact ? accounts.get(fact.wabaId) : numbers.get(fact.phoneNumberId)
      // An account may belong to several tenants, each with several numbers.
      for (const tenant of new Set(channels?.map(channel => channel.tenant))) signed.push({ ...fact, tenant })
      if (!channels) foreign++
    }
  }
  const select = <Kind extends Fact['kind']>(kind: Kind) =>
    signed.filter((fact): fact is TenantFact<Extract<Fact, { kind: Kind }>> => fact.kind === kind)
  return {
    statuses: select('status'),
    inbound: select('inbound'),
    echoes: select('echo'),
    owners: select('owner'),
    changes: select('change'),
    preferences: select('preference'),
    templates: select('template'),
    categories: select('category'),
    accounts: select('account'),
    foreign,
  }
}
export type SignedFacts = ReturnType<typeof sortFacts>
