/** A tenth of a second. */
const slotMilliseconds = 100

/**
 * How fast sends are answered just now, and how long it takes to commit that the next are about to leave: from both
 * follows how much must be at hand for no place to stay empty. An API that hangs has no pace.
 */
export class Pace {
  #slotBegan = 0
  #answered = 0
  #answeredBefore = 0
  #markMilliseconds = 0

  answered(now: number): void {
    this.#turn(now)
    this.#answered++
  }

  marked(milliseconds: number): void {
    // One that took long is forgotten by and by.
    this.#markMilliseconds = Math.max(milliseconds, this.#markMilliseconds * 0.9)
  }

  /** As many as are answered in that time. */
  within(milliseconds: number, now: number): number {
    this.#turn(now)
    const perSlot = Math.max(this.#answered, this.#answeredBefore)
    return Math.ceil((perSlot * milliseconds) / slotMilliseconds)
  }

  /** As many as are answered while the next are marked. */
  withinMark(now: number): number {
    return this.within(this.#markMilliseconds, now)
  }

  #turn(now: number): void {
    const age = now - this.#slotBegan
    if (age < slotMilliseconds) return
    this.#answeredBefore = age < 2 * slotMilliseconds ? this.#answered : 0
    this.#answered = 0
    this.#slotBegan = now
  }
}
