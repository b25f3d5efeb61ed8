/** A list that keeps the last `capacity` items. */
export interface Ring<T> {
  /** Adds an item; returns the oldest one if it had to make room. */
  push(item: T): T | undefined
  newestFirst(): Generator<T>
}

export const createRing = <T>(capacity: number): Ring<T> => {
  const items: T[] = []
  let next = 0
  return {
    push(item) {
      const evicted = items[next]
      items[next] = item
      next = (next + 1) % capacity
      return evicted
    },
    *newestFirst() {
      for (let age = 1; age <= items.length; age++) yield items[(next - age + capacity) % capacity] as T
    },
  }
}
