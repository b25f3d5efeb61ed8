/** Lists what flags need of each facet (facets.ts), by name. */
export type FlaggedFacets = ReadonlyMap<string, Flagged>

interface Flagged {
  readonly existsSql: (table: string) => string
  readonly inLists?: unknown
}

type Flag = `has_${string}`

/** Says for each facet whether the order has something, as in `has_money`. */
export type FacetFlags = Readonly<Record<Flag, boolean>>

export const toFlag = (name: string): Flag => `has_${name.replaceAll('-', '_')}`

export const isListed = ({ inLists }: Flagged): boolean => inLists !== undefined

/** Selects the flags of the facets, after a comma each: all of them, or only those shown in lists. */
export const flagsSql = (facets: FlaggedFacets, table: string, shownIn: 'lists' | 'one'): string =>
  [...facets]
    .filter(([, facet]) => shownIn === 'one' || isListed(facet))
    .map(([name, { existsSql }]) => `, ${existsSql(table)} as ${toFlag(name)}`)
    .join('')
