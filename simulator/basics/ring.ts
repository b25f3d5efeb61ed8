/** Keeps the last `capacity` items. */
export const createRing = <T>(capacity: number) => {
  const items: T[] = []
  let next = 0
  return {
    /** Adds an item; returns the oldest one if it had to make room. */
    push(item: T): T | undefined {
      const evicted = items[next]
      items[next] = item
      next = (next + 1) % capacity
      return evicted
    },
    *newestFirst(): Generator<T, undefined> {
      for (let age = 1; age <= items.length; age++) yield items[(next - age + capacity) % capacity] as T
    },
  }
}
