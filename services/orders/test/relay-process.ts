/**
 * Runs a relay in a process of its own, for tests that kill it. Prints `ready`; on SIGTERM, releases its leases and
 * ends.
 */

import { createPool } from '@courier/shared/postgres/database.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import { pino } from 'pino'
import { createCatalogues } from '../core/catalogue/catalogue.ts'
import { createRelay } from '../core/relay/relay.ts'
import { createSnapshotReader } from '../core/tracking/order-snapshot.ts'

const { DATABASE_URL = '', NOTIFIER_URL = '', SERVICE_TOKEN = '', LEASE_SECONDS = '20' } = process.env

const pool = createPool({ url: DATABASE_URL, name: 'relay process', connections: 4 })
const notifier = createServiceClient({ baseUrl: NOTIFIER_URL, serviceToken: SERVICE_TOKEN, callMilliseconds: 1_000 })
const readSnapshots = createSnapshotReader({ pool, catalogues: createCatalogues(pool, 2 ** 20) }, undefined)
const logger = pino({ level: 'silent' })
const relay = createRelay({ pool, logger, notifier, readSnapshots, leaseSeconds: Number(LEASE_SECONDS) })
relay.start()
process.stdout.write('ready\n')
process.on('SIGTERM', async () => {
  await relay.stop()
  process.exit()
})
