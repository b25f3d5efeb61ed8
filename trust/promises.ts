import type { TrustPromise } from './promise.ts'

/** In the order of docs/promises.md. */
export const promiseNames = [
  ...['killed', 'repeated-calls', 'database-away', 'restarts', 'notifier-away'],
  ...['send-answers', 'send-limits', 'soak', 'fuzz', 'signatures', 'slow-sockets', 'cost'],
  ...['access', 'row-security', 'roles', 'canaries'],
]

export const loadPromise = async (name: string): Promise<TrustPromise> => (await import(`./${name}.ts`)).promise
