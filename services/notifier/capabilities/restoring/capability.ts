import type { Capability } from '../../capability.ts'
import { addRestored } from './command.ts'

/** Repairs a restored database (docs/operators/backup.md). */
export const restoring: Capability = { addCommands: addRestored }
