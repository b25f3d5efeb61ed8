import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './settings.ts'
import { runTool } from './tool.ts'

const usage = `usage: npm run secrets [-- FILE]

Writes FILE, or else .env: a copy of .env.example with a new strong secret for each empty setting, which only you can
read. docker compose reads .env. An existing file is not changed: its secrets may be in use.
`

const makeSecret = (name: string): string =>
  name.endsWith('_KEYS') ? `k1:${randomBytes(32).toString('base64')}` : randomBytes(32).toString('hex')

const write = (file: string): void => {
  const example = readFileSync(join(root, '.env.example'), 'utf8')
  const text = example.replace(/^([A-Z_]+)=$/gm, (line, name: string) => line + makeSecret(name))
  writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
  process.stdout.write(`${file} is written. A database that docker compose has made keeps its old passwords:
change them with alter role, or delete all its data with docker compose down -v.\n`)
}

await runTool(async () => {
  const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true })
  if (values.help) return void process.stdout.write(usage)
  if (positionals.length > 1) throw new Error(usage)
  const file = resolve(positionals[0] ?? join(root, '.env'))
  try {
    write(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Error(`${file} exists and is not changed. Move it away, or name another file.`)
  }
})
