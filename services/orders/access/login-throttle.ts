import { Limit } from '@courier/shared/edge/limits.ts'
import { LRUCache } from 'lru-cache'

/** Successful logins a minute of one account from one network: enough for programs that log in before each request. */
const maxSuccesses = 600
/** Limits guesses from many networks; from one network far fewer are allowed. */
const networksPerEmail = 10

/** `account` is what the login claims: its kind, a tenant and an e-mail address, whether or not it exists. */
interface LoginSource {
  readonly network: string
  readonly account: string
}

/** Limits logins per minute, in the memory of this process. */
export const createLoginThrottle = (triesPerEmail: number, triesPerNetwork: number, now?: () => number) => {
  const ofNetwork = new Limit('network', triesPerNetwork, now)
  const ofEmailHere = new Limit('email-here', triesPerEmail, now)
  const ofEmail = new Limit('email', triesPerEmail * networksPerEmail, now)
  const successes = new Limit('right', maxSuccesses, now)
  /** Networks where an account logged in before: guesses from elsewhere do not lock it out there. */
  const known = new LRUCache<string, true>({ max: 20_000 })

  return {
    /** Seconds until the source may try again; 0 when it may now. */
    secondsSpent: ({ network, account }: LoginSource): number => {
      const here = `${account} ${network}`
      return (
        ofNetwork.secondsSpent(network) ||
        ofEmailHere.secondsSpent(here) ||
        successes.secondsSpent(here) ||
        (known.has(here) ? 0 : ofEmail.secondsSpent(account))
      )
    },
    count: ({ network, account }: LoginSource, isRight: boolean): void => {
      const here = `${account} ${network}`
      if (isRight) {
        successes.count(here)
        known.set(here, true)
      } else {
        ofNetwork.count(network)
        ofEmailHere.count(here)
        ofEmail.count(account)
      }
    },
  }
}
