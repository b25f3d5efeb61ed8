// Runs an operator's command of a service: with the settings in COURIER_ENV, or on the database that the environment
// sets, or else on the database of `npm start`, or else in the container of docker compose.
// Usage: operate.ts orders|notifier [ARGUMENT ...]
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { findContainer, runInContainer } from './compose.ts'
import { findRunning } from './running-stack.ts'
import { isSet, makeEmbeddedEnvironment, provisionSecrets, readDevSettings, root } from './settings.ts'

const [service = ''] = process.argv.splice(2, 1)
const words = process.argv.slice(2)

/** Returns what `read` reads; ends with status 1 where the file cannot be read. */
const readOrExit = <Result>(read: () => Result): Result => {
  try {
    return read()
  } catch (error) {
    const { path, code } = error as NodeJS.ErrnoException
    process.stderr.write(`${service}: cannot read ${path}: ${code}\n`)
    return process.exit(1)
  }
}

/**
 * Reads the folder that the units of ops/systemd/ read: SERVICE.env, and a file for each secret in secrets/. The
 * environment wins.
 */
const readSettings = (folder: string): NodeJS.ProcessEnv => {
  const file = join(folder, `${service}.env`)
  const given = existsSync(file) ? readOrExit(() => parseEnv(readFileSync(file, 'utf8'))) : {}
  const secrets = readOrExit(() => readdirSync(join(folder, 'secrets')))
    .map(name => [name.toUpperCase(), join(folder, 'secrets', name)] as const)
    .filter(([name]) => !isSet(name) && !given[name])
  return { ...given, ...Object.fromEntries(secrets.map(([name, path]) => [`${name}_FILE`, path])), ...process.env }
}

const operateIn = (container: string): number => {
  const at = words[0] === 'apply' ? words.findIndex((word, index) => index > 0 && !word.startsWith('-')) : -1
  const path = words[at]
  // The container does not have the file.
  const input = path === undefined ? undefined : readOrExit(() => readFileSync(path, 'utf8'))
  const named = [...(input ?? '').matchAll(/"env"\s*:\s*"(\w+)"/g)].map(([, name = '']) => name)
  const variables = ['MERCHANT_PASSWORD', 'STAFF_PASSWORD', 'ACCESS_TOKEN', 'APP_SECRET', 'VERIFY_TOKEN', ...named]
  const given = input === undefined ? words : words.with(at, '-')
  return runInContainer(container, [`services/${service}/admin.ts`, ...given], { variables, input })
}

/** Names the database of `npm start`, unless the container of docker compose runs the command. */
const useDevelopment = () => {
  const container = isSet(`${service.toUpperCase()}_DATABASE_URL`) ? undefined : findContainer(service)
  if (container !== undefined) process.exit(operateIn(container))
  const { EMBEDDED_POSTGRES_PORT, SIMULATOR_PORT, dataFolder } = readDevSettings()
  const running = findRunning()
  process.env.MESSAGING_API_URL ||= running.simulator ?? `http://127.0.0.1:${SIMULATOR_PORT}`
  const port = Number(running.postgres?.split(':')[1]) || EMBEDDED_POSTGRES_PORT
  Object.assign(process.env, makeEmbeddedEnvironment(port), provisionSecrets(dataFolder))
}

const folder = process.env.COURIER_ENV
if (folder) Object.assign(process.env, readSettings(folder))
else useDevelopment()
await import(join(root, 'services', service, 'admin.ts'))
