import type pg from 'pg'
import { Gauge, type Registry } from 'prom-client'
import { countWaiting } from './tenant-share.ts'

/** Registers a gauge of the pool's connections by state. */
export const watchPool = (pool: pg.Pool, registry: Registry): void => {
  new Gauge({
    name: 'database_connections',
    help: 'Connections to Postgres, busy and idle, and requests waiting for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount + countWaiting(pool))
    },
  })
}
