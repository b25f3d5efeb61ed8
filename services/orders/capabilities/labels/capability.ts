import type { Capability } from '../../capability.ts'
import { findPrinter } from './printer.ts'
import { merchantLabelRoutes, staffLabelRoutes } from './routes.ts'

/** Prints labels and run sheets (docs/staff/labels.md). */
export const labels: Capability = {
  start: core => {
    const printer = findPrinter(core)
    const options = { ...core, printer }
    return {
      routes: {
        merchant: [app => merchantLabelRoutes(app, options)],
        staff: [app => staffLabelRoutes(app, options)],
      },
      close: () => printer.close(),
    }
  },
}
