/**
 * Divides long work into slices. The promise resolves when the next slice may begin: one slice in each round of the
 * event loop, of one request after another, so that other requests wait for one slice alone.
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
