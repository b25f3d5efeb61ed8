import { Limit } from '@courier/shared/edge/limits.ts'
import { atMost } from '@courier/shared/lru-limit.ts'
import { LRUCache } from 'lru-cache'

/** Limits an account's successful logins a minute from one network: programs may log in before each request. */
const maxSuccesses = 600
/** Allows an account this many times as many wrong passwords from all networks together as from one. */
const networksPerEmail = 10

/** `account` is what the login claims: its kind, a tenant and an e-mail address, even if no such account exists. */
type LoginSource = Readonly<Record<'network' | 'account', string>>

/**
 * Limits logins per minute, in the memory of this process. The limit of an address, before authentication, cannot
 * replace it: whoever guesses one account's password uses many addresses, and many accounts share a shop's address.
 */
export const createLoginThrottle = (triesPerEmail: number, triesPerNetwork: number, now?: () => number) => {
  const byNetwork = new Limit('network', triesPerNetwork, now)
  const byEmailHere = new Limit('email-here', triesPerEmail, now)
  const byEmail = new Limit('email', triesPerEmail * networksPerEmail, now)
  const successes = new Limit('right', maxSuccesses, now)
  /** Remembers the networks where an account logged in before: guesses from elsewhere do not lock it out there. */
  const known = new LRUCache<string, true>(atMost(20_000))

  return {
    /** Returns the seconds until the source may try again; 0 when it may now. */
    secondsSpent: ({ network, account }: LoginSource): number => {
      const here = `${account} ${network}`
      return (
        byNetwork.secondsSpent(network) ||
        byEmailHere.secondsSpent(here) ||
        successes.secondsSpent(here) ||
        (known.has(here) ? 0 : byEmail.secondsSpent(account))
      )
    },
    count: ({ network, account }: LoginSource, isCorrect: boolean): void => {
      const here = `${account} ${network}`
      if (isCorrect) {
        successes.count(here)
        known.set(here, true)
      } else {
        byNetwork.count(network)
        byEmailHere.count(here)
        byEmail.count(account)
      }
    },
  }
}
