const slotMilliseconds = 100

/** Estimates the responses during a claim: that many more messages keep the window full. */
export class ThroughputEstimate {
  #slotBegan = 0
  #responses = 0
  #responsesBefore = 0
  #claimMilliseconds = 0

  recordResponse(now: number): void {
    this.#advance(now)
    this.#responses++
  }

  recordClaim(milliseconds: number): void {
    // Forgets a slow claim gradually.
    this.#claimMilliseconds = Math.max(milliseconds, this.#claimMilliseconds * 0.9)
  }

  /** Returns the responses expected while the next messages are claimed. */
  expectDuringClaim(now: number): number {
    this.#advance(now)
    const perSlot = Math.max(this.#responses, this.#responsesBefore)
    return Math.ceil((perSlot * this.#claimMilliseconds) / slotMilliseconds)
  }

  #advance(now: number): void {
    const age = now - this.#slotBegan
    if (age < slotMilliseconds) return
    this.#responsesBefore = age < 2 * slotMilliseconds ? this.#responses : 0
    this.#responses = 0
    this.#slotBegan = now
  }
}
