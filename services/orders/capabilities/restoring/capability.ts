import type { Capability } from '../../capability.ts'
import { addRestored } from './command.ts'

/** Repairs a database that was restored from a backup (docs/operators/backup.md). */
export const restoring: Capability = { addCommands: addRestored }
