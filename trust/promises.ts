import type { TrustPromise } from './promise.ts'

/** Lists the promises in the order of docs/promises.md: failures, orders of events, inputs, access. */
export const promiseNames = [
  'killed',
  'repeated-requests',
  'restarts',
  'notifier-away',
  'webhooks',
  'presses',
  'chaos',
  'restored',
  'models',
  'soak',
  'fuzz',
  'cost',
  'access',
  'row-security',
  'roles',
  'canaries',
]

export const loadPromise = async (name: string): Promise<TrustPromise> => (await import(`./${name}.ts`)).promise
