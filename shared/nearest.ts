import { distance } from 'fastest-levenshtein'

const maxLength = 32

/** The name that `wanted` is most likely meant to be; undefined when none is within a third of its length, in edits. */
export const nearestName = (wanted: string, names: readonly string[]): string | undefined => {
  if (wanted.length > maxLength) return undefined
  const plain = (name: string) => name.toLowerCase().replaceAll('_', '')
  const edits = new Map(names.map(name => [name, distance(plain(wanted), plain(name))]))
  const [nearest] = [...edits].sort(([, a], [, b]) => a - b)
  return nearest && nearest[1] <= Math.max(2, nearest[0].length / 3) ? nearest[0] : undefined
}
