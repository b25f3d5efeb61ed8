import type { Check } from '../evidence.ts'

/** A service that starts waits for Postgres for a minute, and then ends. */
const maxWaitSeconds = 59

export const processesEndOnlyWhenAsked: Check = ({ exits }) =>
  exits
    .filter(({ by, lastedSeconds, line }) => {
      const hadNoPostgres = lastedSeconds > maxWaitSeconds && line.includes('Postgres cannot be reached')
      return by === null && !hadNoPostgres
    })
    .map(
      ({ process, status, line }) =>
        `${process} ended with ${status}, and nobody had asked for it: ${line.slice(-300)}`,
    )

/** Applies once the process serves: before that, nothing handles the signal. */
export const sigtermEndsWithStatusZero: Check = ({ exits }) =>
  exits
    .filter(({ by, status }) => by === 'SIGTERM' && status !== 0)
    .map(({ process, status, line }) => `SIGTERM ended ${process} with ${status}: ${line.slice(-300)}`)

/**
 * Requires that the notifier accepts every webhook once both services are ready: after that the API may give one up
 * only if it got no response.
 */
export const webhooksAreAccepted: Check = ({ givenUp, readyAt }) =>
  givenUp
    .filter(({ at, status }) => at > readyAt && status !== null)
    .map(
      ({ status, message, inbound }) =>
        `a webhook about ${message ?? inbound} got ${status} once both services were ready`,
    )
