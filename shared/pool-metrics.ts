import type pg from 'pg'
import { Gauge, type Registry } from 'prom-client'

/** Adds the pool's connections, by what they do, and the calls that wait for one. */
export const watchPool = (pool: pg.Pool, registry: Registry): void => {
  new Gauge({
    name: 'database_connections',
    help: 'Connections to Postgres, and calls waiting for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
}
