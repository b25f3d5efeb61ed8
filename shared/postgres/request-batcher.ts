/** Configures how requests of one key share batches. */
interface Batching<Item, Result> {
  /**
   * Handles a batch; resolves to one result per item, in their order. When it rejects, every item of the batch fails.
   */
  readonly run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>
  /**
   * Returns how many of the waiting items go into the next batch, oldest first, while `running` batches of the key run.
   */
  readonly take: (waiting: readonly Item[], running: number) => number
  /** Returns how many batches of a key may run at once while these items wait. */
  readonly lanes: (waiting: readonly Item[]) => number
  /** Items that waited this long, as behind a batch that waits for a lock, may use this many lanes. */
  readonly patience?: { readonly milliseconds: number; readonly lanes: number }
}

interface Queue<Item, Result> {
  /** `waiters[n]` gets the result of `items[n]`. */
  readonly items: Item[]
  readonly waiters: PromiseWithResolvers<Result>[]
  running: number
  isScheduled: boolean
  /** Runs while the oldest item waits. */
  patience?: NodeJS.Timeout | undefined
}

/**
 * Batches requests that arrive while others of their key are handled, or in one round of the event loop. While no batch
 * runs, no request waits for others to join it.
 */
export const batchRequests = <Item, Result>(batching: Batching<Item, Result>) => {
  const queues = new Map<string, Queue<Item, Result>>()

  const run = async (key: string, queue: Queue<Item, Result>): Promise<void> => {
    const count = Math.max(1, batching.take(queue.items, queue.running))
    const items = queue.items.splice(0, count)
    const waiters = queue.waiters.splice(0, count)
    clearTimeout(queue.patience)
    queue.patience = undefined
    queue.running++
    try {
      const results = await batching.run(key, items)
      for (const [index, { resolve }] of waiters.entries()) resolve(results[index] as Result)
    } catch (error) {
      for (const { reject } of waiters) reject(error)
    }
    queue.running--
    start(key, queue, 0)
  }

  const start = (key: string, queue: Queue<Item, Result>, minimumLanes: number): void => {
    queue.isScheduled = false
    const hasLane = () => queue.running < Math.max(minimumLanes, batching.lanes(queue.items))
    while (queue.items.length > 0 && hasLane()) void run(key, queue)
    if (queue.items.length === 0 && queue.running === 0) queues.delete(key)
    else if (queue.items.length > 0) watch(key, queue)
  }

  /** Gives waiting items more lanes once the oldest has waited long enough. New arrivals do not prolong the wait. */
  const watch = (key: string, queue: Queue<Item, Result>): void => {
    const { patience } = batching
    if (!patience || queue.patience) return
    queue.patience = setTimeout(() => {
      queue.patience = undefined
      start(key, queue, patience.lanes)
    }, patience.milliseconds)
  }

  return (key: string, item: Item): Promise<Result> => {
    const queue = queues.get(key) ?? { items: [], waiters: [], running: 0, isScheduled: false }
    queues.set(key, queue)
    const waiter = Promise.withResolvers<Result>()
    queue.items.push(item)
    queue.waiters.push(waiter)
    if (!queue.isScheduled) {
      queue.isScheduled = true
      setImmediate(start, key, queue, 0)
    }
    return waiter.promise
  }
}

/** Returns how many of the first items fit into one batch of at most `limit`, by their sizes. */
export const countWithin = <Item>(items: readonly Item[], limit: number, measure: (item: Item) => number): number => {
  let size = 0
  const end = items.findIndex(item => {
    size += measure(item)
    return size > limit
  })
  return end === -1 ? items.length : end
}

/** Limits the concurrent statements of one tenant; `namesPerRead` limits the names in one statement. */
const readLanes = 2
const namesPerRead = 100
/** Is the largest number of names that cost less in one statement than in two. */
const namesUndivided = 16

/**
 * Batches look-ups of single rows by name; `read` returns the rows found, by name. Free lanes divide what waits: each
 * reads while the rows of the other are sent.
 */
export const batchReads = <Row>(
  read: (tenant: string, names: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): ((tenant: string, name: string) => Promise<Row | undefined>) =>
  batchRequests<string, Row | undefined>({
    run: async (tenant, names) => {
      const rows = await read(tenant, [...new Set(names)])
      return names.map(name => rows.get(name))
    },
    take: ({ length }, running) =>
      Math.min(namesPerRead, Math.max(namesUndivided, Math.ceil(length / (readLanes - running)))),
    lanes: () => readLanes,
  })
