import * as effects from './checks/effects.ts'
import * as feed from './checks/feed.ts'
import * as messages from './checks/messages.ts'
import * as orders from './checks/orders.ts'
import * as people from './checks/people.ts'
import * as presses from './checks/presses.ts'
import * as processes from './checks/processes.ts'
import type { Check, Evidence } from './evidence.ts'

/** Maps the name of each check to the check. */
export const checks = Object.fromEntries(
  [effects, orders, feed, messages, people, presses, processes].flatMap(all => Object.entries<Check>(all)),
)

/** Returns every violation as a sentence, with its check. Without messages, omits the check that events make them. */
export const audit = (evidence: Evidence, hasMessages = true): { check: string; sentence: string }[] =>
  Object.entries(checks)
    .filter(([, find]) => hasMessages || find !== messages.eventsMakeTheirMessagesOnce)
    .flatMap(([check, find]) => find(evidence).map(sentence => ({ check, sentence })))
