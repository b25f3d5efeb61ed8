/**
 * Long work of all requests in turn, a slice in each round of the event loop: however many there are, others wait for one slice
 * alone. Resolves when it is the caller's turn.
 */
export const createTurns = (): (() => Promise<void>) => {
  const waiting: (() => void)[] = []
  const next = (): void => {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(next)
  }
  return () =>
    new Promise(resolve => {
      waiting.push(resolve)
      if (waiting.length === 1) setImmediate(next)
    })
}
