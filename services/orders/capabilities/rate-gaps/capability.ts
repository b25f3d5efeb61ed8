import type { Capability } from '../../capability.ts'
import { deleteOldGaps } from './queries.ts'
import { createRateGaps } from './recorder.ts'
import { rateGapRoutes } from './routes.ts'

/** Reports the combinations of cities that rate cards lack (docs/staff/portal.md#screens). */
export const rateGaps: Capability = {
  start: core => {
    const gaps = createRateGaps(core.pool, core.logger)
    return {
      routes: { staff: [app => rateGapRoutes(app, { ...core, gaps })] },
      onRefused: gaps.record,
      close: gaps.close,
    }
  },
  housekeeping: [deleteOldGaps],
}
