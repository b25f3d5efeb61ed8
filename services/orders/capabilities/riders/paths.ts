import {
  type Booking,
  classifyStatus,
  failedAttemptKeys,
  findBooking,
  type Status,
  type Statuses,
} from '../../core/statuses/statuses.ts'

// Finds the moves by which a rider's act gets a parcel where it must be. Pure.

export type Goal = 'delivery' | 'partial_delivery' | 'failure'

/** Limits the moves of one act: a parcel that is further away is not with its rider yet. */
const maxMoves = 3

/** Lists the failed statuses by how well they fit what a rider says, best first. */
const failures = ['key_17', 'key_15', 'key_16']

const findKind = (status: Status): Booking => {
  const booking = findBooking(status)
  if (booking !== 'nothing' || classifyStatus(status.key) !== 'delivered') return booking
  return status.key === 'key_14' ? 'partial_delivery' : 'delivery'
}

const isGoal = (status: Status, goal: Goal): boolean =>
  goal === 'failure' ? failedAttemptKeys.includes(status.key) : findKind(status) === goal

const rank = ({ key }: Status): number => failures.indexOf(key)

/**
 * Lists the statuses through which legal moves lead from `from` to the goal, the nearest path, first move first.
 * undefined: there is none. Moves on the way book nothing, and none of them says that a delivery failed, except out of
 * a failure. A delivery that failed cannot fail again before the parcel was sent out again.
 */
export const findPath = (from: string, goal: Goal, statuses: Statuses): string[] | undefined => {
  const wasFailed = failedAttemptKeys.includes(from)
  if (goal === 'failure' && wasFailed) return undefined
  const isOnWay = (status: Status) =>
    classifyStatus(status.key) === 'under_way' &&
    findBooking(status) === 'nothing' &&
    (wasFailed || !failedAttemptKeys.includes(status.key))
  const seen = new Set([from])
  let paths: string[][] = [[]]
  for (let moves = 1; moves <= maxMoves; moves++) {
    const next: { path: string[]; status: Status }[] = []
    for (const path of paths)
      for (const key of statuses.get(path.at(-1) ?? from)?.moves ?? []) {
        const status = statuses.get(key)
        if (status && !seen.has(key)) next.push({ path: [...path, key], status })
        seen.add(key)
      }
    const [reached] = next.filter(({ status }) => isGoal(status, goal)).sort((a, b) => rank(a.status) - rank(b.status))
    if (reached) return reached.path
    paths = next.filter(({ status }) => isOnWay(status)).map(({ path }) => path)
  }
  return undefined
}

/** Returns true if nobody carries a parcel in that status. */
export const isOver = (key: string): boolean => ['delivered', 'returned', 'cancelled'].includes(classifyStatus(key))

/** Says whether a parcel is still to do for its rider, done, or failed. */
export const findState = (key: string): 'to_do' | 'done' | 'failed' => {
  if (classifyStatus(key) === 'delivered') return 'done'
  return failedAttemptKeys.includes(key) || isOver(key) ? 'failed' : 'to_do'
}
