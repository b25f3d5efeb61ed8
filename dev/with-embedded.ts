// Runs an operator's command on the database of `npm start` unless the environment sets another.
// usage: with-embedded.ts MODULE [ARGUMENT ...]
import { resolve } from 'node:path'
import { embeddedEnvironment, readDevSettings, secretsEnvironment } from './settings.ts'

const { EMBEDDED_POSTGRES_PORT, dataFolder } = readDevSettings()
Object.assign(process.env, embeddedEnvironment(EMBEDDED_POSTGRES_PORT), secretsEnvironment(dataFolder))
const [module] = process.argv.splice(2, 1)
await import(resolve(module ?? ''))
