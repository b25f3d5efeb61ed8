/**
 * Returns the options of an LRUCache that keeps at most `count` entries. Its option `max` instead allocates the room
 * for all of them at once: 3 ms and 500 kB for 20,000, in each of a service's caches, at each start.
 */
export const atMost = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 })
