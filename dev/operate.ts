// Runs an operator's command of a service: on the database that the environment sets, or else on the database of `npm
// start`, or else in the container of docker compose. Usage: operate.ts orders|notifier [ARGUMENT ...]
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findContainer, runInContainer } from './compose.ts'
import { findRunning } from './running-stack.ts'
import { isSet, makeEmbeddedEnvironment, provisionSecrets, readDevSettings, root } from './settings.ts'

const [service = ''] = process.argv.splice(2, 1)
const words = process.argv.slice(2)

/** Reads the FILE of `apply` on this machine: the container does not have it. */
const readFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    process.stderr.write(`${service}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}\n`)
    return process.exit(1)
  }
}

const operateIn = (container: string): number => {
  const at = words[0] === 'apply' ? words.findIndex((word, index) => index > 0 && !word.startsWith('-')) : -1
  const input = words[at] === undefined ? undefined : readFile(words[at])
  const named = [...(input ?? '').matchAll(/"env"\s*:\s*"(\w+)"/g)].map(([, name = '']) => name)
  const variables = ['MERCHANT_PASSWORD', 'STAFF_PASSWORD', 'ACCESS_TOKEN', 'APP_SECRET', 'VERIFY_TOKEN', ...named]
  const given = input === undefined ? words : words.with(at, '-')
  return runInContainer(container, [`services/${service}/admin.ts`, ...given], { variables, input })
}

const container = isSet(`${service.toUpperCase()}_DATABASE_URL`) ? undefined : findContainer(service)
if (container !== undefined) process.exit(operateIn(container))
const { EMBEDDED_POSTGRES_PORT, SIMULATOR_PORT, dataFolder } = readDevSettings()
const running = findRunning()
process.env.MESSAGING_API_URL ||= running.simulator ?? `http://127.0.0.1:${SIMULATOR_PORT}`
const port = Number(running.postgres?.split(':')[1]) || EMBEDDED_POSTGRES_PORT
Object.assign(process.env, makeEmbeddedEnvironment(port), provisionSecrets(dataFolder))
await import(join(root, 'services', service, 'admin.ts'))
