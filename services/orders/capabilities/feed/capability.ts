import type { Capability } from '../../capability.ts'
import type { Resolve } from './addresses.ts'
import { changeRoutes } from './change-routes.ts'
import { repairFeeds } from './endpoint-queries.ts'
import { feedTasks } from './housekeeping.ts'
import { opensSecret, rotateSecrets } from './rotate-secrets.ts'
import { createSending } from './sender.ts'
import { createChangeWatch } from './watch.ts'
import { webhookRoutes } from './webhook-routes.ts'
import { messageOperation } from './webhook-schema.ts'

/**
 * Gives merchants their changes, as a feed and by webhooks (docs/merchants/changes.md, docs/merchants/webhooks.md).
 * `resolve` replaces the queries to the name servers.
 */
export const createFeed = (resolve?: Resolve): Capability => ({
  start: core => {
    const { pool, logger, registry } = core
    const watch = createChangeWatch(pool, logger)
    const sending = createSending(pool, logger, { ...core, ...(resolve && { resolve }) }, registry)
    const { sender, dispatcher } = sending
    return {
      routes: {
        merchant: [app => changeRoutes(app, { pool, watch })],
        webhooks: [app => webhookRoutes(app, { ...core, ...sending })],
      },
      workers: sender ? [sender] : [],
      onChanged: tenant => {
        watch.wake()
        sender?.wake(tenant)
      },
      clients: [dispatcher],
    }
  },
  sends: { merchantEvent: { post: messageOperation } },
  housekeeping: feedTasks,
  rotateKeys: rotateSecrets,
  opensNewest: opensSecret,
  repair: repairFeeds,
})

export const feed = createFeed()
