import type { Capability } from '../../capability.ts'
import { addRestored } from './command.ts'

export const restoring: Capability = { addCommands: addRestored }
