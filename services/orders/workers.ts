import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { Tracer } from '@courier/shared/traces.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Catalogues } from './catalogue/catalogue.ts'
import { createChangeWatch } from './changes/watch.ts'
import { Printer } from './labels/printer.ts'
import { createSending, type SendingOptions } from './merchant-webhooks/sender.ts'
import { createRateGaps } from './rate-gaps/recorder.ts'
import { countDeliveries, watchOutbox } from './relay/metrics.ts'
import { createRelay } from './relay/relay.ts'
import { createSnapshotReader } from './tracking/order-snapshot.ts'

interface WorkerOptions {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  readonly logger: Logger
  /** Receives the order events. */
  readonly notifier: ServiceClient
  readonly tracer?: Tracer | undefined
  readonly publicUrl?: string | undefined
  readonly webhooks: SendingOptions
}

/** Creates the workers that run beside the requests. The relay and the sender of webhooks run once they are started. */
export const createWorkers = (options: WorkerOptions, registry: Registry) => {
  const { pool, catalogues, logger, notifier, tracer, publicUrl } = options
  watchOutbox(pool, registry)
  const readSnapshots = createSnapshotReader(pool, catalogues, publicUrl)
  const relay = createRelay({ pool, logger, notifier, tracer, readSnapshots, ...countDeliveries(registry) })
  const watch = createChangeWatch(pool, logger)
  const sending = createSending(pool, logger, options.webhooks, registry)
  const gaps = createRateGaps(pool, logger)
  const printer = new Printer()
  return {
    relay,
    watch,
    sending,
    gaps,
    printer,
    /** Wakes whoever waits for changes of the tenant's orders. */
    onChanged: (tenant: string): void => {
      relay.wake(tenant)
      watch.wake()
      sending.sender?.wake(tenant)
    },
    /** Ends those that need no start. */
    close: () => Promise.all([gaps.close(), printer.close()]),
  }
}
