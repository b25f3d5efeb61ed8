import { Gauge, type Registry } from 'prom-client'

interface Figure<Measured> {
  readonly name: string
  readonly help: string
  readonly read: (measured: Measured) => number
}

/**
 * Gauges whose figures are measured together when they are asked for. When that takes over a second or fails, as it does
 * without the database, they are left out.
 */
export const measuredGauges = <Measured>(
  registry: Registry,
  measure: () => Promise<Measured>,
  figures: readonly Figure<Measured>[],
): void => {
  const measureOnce = shared(() => withinASecond(measure()))
  for (const { name, help, read } of figures)
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

/** Who asks while an answer is under way gets the same. */
const shared = <Value>(ask: () => Promise<Value>): (() => Promise<Value>) => {
  let current: Promise<Value> | undefined
  return () => {
    current ??= ask().finally(() => {
      current = undefined
    })
    return current
  }
}

const withinASecond = <Value>(value: Promise<Value>): Promise<Value | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, 1_000, undefined)
  })
  return Promise.race([value.catch(() => undefined), late]).finally(() => clearTimeout(timer))
}
