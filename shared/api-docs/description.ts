export interface Audience {
  /** Names the page in its path. */
  name: string
  title: string
  description: string
  /** Lists the groups of operations, in the order of the page. */
  tags: readonly string[]
  /** Shows a first request as a shell command; `$URL` stands for the service's address. */
  quickStart?: string
}

export interface ApiDescription {
  title: string
  description: string
  /** Lists the groups of operations, in the order of the page. */
  tags: { name: string; description: string }[]
  /** Describes the requests that the service sends, by name; their schemas are read like those of routes. */
  webhooks?: Record<string, object>
  /** Without audiences there is one page for all, and none at `/`. */
  audiences?: Audience[]
  /** Lists the pages of docs/ that a program reads first, such as merchants/contract. Without them none is served. */
  pages?: readonly string[]
}
