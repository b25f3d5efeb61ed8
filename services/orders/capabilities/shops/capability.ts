import type { Capability } from '../../capability.ts'
import { addTarget } from '../feed/post.ts'
import { createAutoBooker } from './auto-book.ts'
import { createDeliverToShop } from './deliver.ts'
import { shopOrderRoutes } from './order-routes.ts'
import { receivingRoutes } from './receive.ts'
import { opensShopSecret, rotateShopSecrets, shopDeletions } from './secrets.ts'
import { shopRoutes } from './shop-routes.ts'
import { writeBackRoutes } from './write-back.ts'

/** Takes the orders of merchants' shops, books them, and writes back (docs/merchants/shops.md). */
export const shops: Capability = {
  start: core => {
    addTarget('shop', createDeliverToShop(core))
    const booker = createAutoBooker(core)
    const options = { ...core, onOrder: () => booker.wake() }
    return {
      routes: {
        signed: [app => receivingRoutes(app, options)],
        merchant: [shopOrderRoutes, app => shopRoutes(app, options), app => writeBackRoutes(app, options)],
      },
      workers: [booker],
    }
  },
  housekeeping: shopDeletions,
  rotateKeys: rotateShopSecrets,
  opensNewest: opensShopSecret,
}
