import type { Courier } from './courier.ts'

type Queue = Pick<Courier, 'rows'>

/** A send without a response is given up after 32 s. Moves that time to now for those that began so many seconds ago. */
export const giveUpSends = async ({ rows }: Queue, seconds: number): Promise<void> => {
  const text = `update messages set due_at = now() where status = 'sending' and status_at < now() - make_interval(secs => $1)`
  await rows('notifier', text, [seconds])
}

/**
 * A later message of a waybill waits 15 minutes at most for an unknown one, and a failed attempt is repeated after up to five hours.
 * Moves both times to now. What is claimed is due within ten seconds, and stays as it is.
 */
export const endWaits = async ({ rows }: Queue): Promise<void> => {
  await rows('notifier', `update messages set due_at = 'infinity' where status = 'unknown' and due_at < 'infinity'`)
  await rows(
    'notifier',
    `update messages set due_at = now() where status = 'queued' and due_at > now() + interval '11 s'`,
  )
}
