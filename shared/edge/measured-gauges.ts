import { setTimeout as delay } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'

interface Metric<Measured> {
  readonly name: string
  readonly help: string
  readonly read: (measured: Measured) => number
}

/**
 * Registers gauges that one measurement serves, made when they are scraped. They are left out when it fails, as without the
 * database, or takes over a second.
 */
export const createGauges = <Measured>(
  registry: Registry,
  measure: () => Promise<Measured>,
  metrics: readonly Metric<Measured>[],
): void => {
  const waitTooLong = () => delay(1_000, undefined, { ref: false })
  const measureOnce = coalesce(() => Promise.race([measure(), waitTooLong()]).catch(() => undefined))
  for (const { name, help, read } of metrics)
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const measured = await measureOnce()
        if (measured) this.set(read(measured))
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
