import type { TrustPromise } from './promise.ts'

/** In the order of docs/promises.md. */
export const promiseNames = [
  ...['killed', 'repeated-requests', 'restarts', 'notifier-away', 'webhooks', 'presses', 'hours', 'restored', 'chaos'],
  ...['models'],
  ...['soak', 'fuzz', 'signatures', 'cost'],
  ...['access', 'row-security', 'roles', 'canaries'],
]

export const loadPromise = async (name: string): Promise<TrustPromise> => (await import(`./${name}.ts`)).promise
