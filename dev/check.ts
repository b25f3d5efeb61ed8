import { checkLint, checkTypes } from './checks.ts'

const ok = [checkTypes(), checkLint()].every(Boolean)
process.exit(ok ? 0 : 1)
