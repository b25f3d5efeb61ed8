import { Counter, Gauge, type Registry } from 'prom-client'
import type { Catalogues } from './catalogue.ts'

/** Counts the catalogues that are read from Postgres: the `onLoad` of createCatalogues. */
export const countLoads = (registry: Registry): (() => void) => {
  const help = 'Catalogues read from Postgres.'
  const loads = new Counter({ name: 'catalogue_loads_total', help, registers: [registry] })
  return () => loads.inc()
}

export const watchCatalogues = (catalogues: Catalogues, registry: Registry): void => {
  new Gauge({
    name: 'catalogue_bytes',
    help: 'Catalogues in memory, estimated.',
    registers: [registry],
    collect() {
      this.set(catalogues.bytes())
    },
  })
}
