import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import type { Capability } from '../../capability.ts'
import { findPrinter } from '../labels/printer.ts'
import { addressOfBooking } from './addresses.ts'
import { merchantPickupRoutes } from './merchant-routes.ts'
import { staffPickupRoutes } from './staff-routes.ts'
import { merchantTicketRoutes, staffTicketRoutes } from './tickets.ts'

/** Sets how long merchants read pickups that ended, with their receipts, and closed messages. */
const keptDays = 400
const isOld = (ended: string): string => `${ended} < now() - make_interval(days => ${keptDays})`

/** Lets merchants ask for pickups, which staff count, and write to the company (docs/merchants/pickups.md). */
export const pickups: Capability = {
  start: core => {
    const options = { ...core, printer: findPrinter(core) }
    return {
      routes: {
        merchant: [app => merchantPickupRoutes(app, options), merchantTicketRoutes],
        staff: [app => staffPickupRoutes(app, options), staffTicketRoutes],
      },
    }
  },
  booking: addressOfBooking,
  housekeeping: [deleteWhere('pickups', isOld('ended_at')), deleteWhere('tickets', isOld('closed_at'))],
}
