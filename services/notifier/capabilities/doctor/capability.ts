import type { Capability } from '../../capability.ts'
import { addDoctor } from './command.ts'

export const doctor: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).doctorRoutes(staff, core) } }),
  addCommands: addDoctor,
}
