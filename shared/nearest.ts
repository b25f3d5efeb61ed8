import { distance } from 'fastest-levenshtein'

const maxLength = 32

/**
 * Returns the name that `wanted` most likely means: the two differ in at most a third of the shorter one's letters, or
 * in one letter.
 */
export const nearestName = (wanted: string, names: readonly string[]): string | undefined => {
  if (wanted.length > maxLength) return undefined
  const simplify = (name: string) => name.toLowerCase().replaceAll('_', '')
  const edits = new Map(names.map(name => [name, distance(simplify(wanted), simplify(name))]))
  const [nearest] = [...edits].sort(([, a], [, b]) => a - b)
  const shorter = Math.min(wanted.length, nearest?.[0].length ?? 0)
  return nearest && nearest[1] <= Math.max(1, Math.floor(shorter / 3)) ? nearest[0] : undefined
}
