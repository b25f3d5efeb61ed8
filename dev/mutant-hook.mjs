// Gives one module other code: `node --import ./dev/mutant-hook.mjs` with MUTANT_URL and MUTANT_CODE.
import { registerHooks } from 'node:module'

registerHooks({
  load: (url, context, next) =>
    url === process.env.MUTANT_URL
      ? { format: 'module', source: process.env.MUTANT_CODE, shortCircuit: true }
      : next(url, context),
})
