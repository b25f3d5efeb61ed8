/**
 * Divides long work into slices. The promise resolves when the next slice may begin: each round of the event loop runs
 * one slice, of each request in turn, so that other requests wait for only one slice.
 */
export const createSlices = (): (() => Promise<void>) => {
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
