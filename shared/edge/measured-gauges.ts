import { setTimeout as delay } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'

/**
 * Registers gauges by name, each with its help: one measurement, made when they are scraped, has their values. They are
 * left out when it fails, as without the database, or takes over a second.
 */
export const createGauges = <Name extends string>(
  registry: Registry,
  measure: () => Promise<Readonly<Record<Name, number>>>,
  gauges: Readonly<Record<Name, string>>,
): void => {
  const waitTooLong = () => delay(1_000, undefined, { ref: false })
  const measureOnce = coalesce(() => Promise.race([measure(), waitTooLong()]).catch(() => undefined))
  for (const [name, help] of Object.entries<string>(gauges))
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const measured = await measureOnce()
        if (measured) this.set(measured[name as Name])
        else this.remove()
      },
    })
}

/** Calls made while one is in progress share its result. */
const coalesce = <Value>(run: () => Promise<Value>): (() => Promise<Value>) => {
  let current: Promise<Value> | undefined
  return () => {
    current ??= run().finally(() => {
      current = undefined
    })
    return current
  }
}
