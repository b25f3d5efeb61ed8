/** Adds an error at a path. */
export type Add = (path: string, sentence: string) => void

/** Returns a check that adds an error at the path of every value that it has seen before. */
export const unique = (add: Add, what: string) => {
  const seen = new Set<unknown>()
  return (path: string, value: unknown): void => {
    if (seen.has(value)) add(path, `The ${what} ${value} is there twice.`)
    seen.add(value)
  }
}
