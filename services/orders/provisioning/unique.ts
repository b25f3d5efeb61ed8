/** Adds a sentence under the path of what is wrong. */
export type Add = (path: string, sentence: string) => void

/** Tells of every value that came before: `once(path, value)` adds a fault at the later one. */
export const unique = (add: Add, what: string) => {
  const seen = new Set<unknown>()
  return (path: string, value: unknown): void => {
    if (seen.has(value)) add(path, `The ${what} ${value} is there twice.`)
    seen.add(value)
  }
}
