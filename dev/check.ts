import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findSeamBreaks, findUpwardImports, readCapabilities, readImports } from './layers.ts'
import { readDocuments, writeTypes } from './openapi.ts'
import { root } from './settings.ts'

const run = (program: string, args: readonly string[], options: { stdout?: 'pipe'; env?: NodeJS.ProcessEnv } = {}) =>
  spawnSync(program, args, {
    cwd: root,
    stdio: ['inherit', options.stdout ?? 'inherit', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...options.env },
  })

const findTool = (path: string): string => join(root, 'node_modules', path)
const compiler = findTool('typescript-7/bin/tsc')

/** Each checker computes the same types again, so one checker takes half the CPU of the default four. */
const oneChecker = ['--checkers', '1']

/** Checks types and, by the compiler's list of imports, that each folder imports only from folders below it. */
const checkTypes = (): boolean => {
  const args = [...oneChecker, '-p', '.', '--explainFiles', '--pretty', 'false']
  const { status, stdout } = run(compiler, args, { stdout: 'pipe' })
  const listed = /^.*\.d\.ts$/m.exec(stdout)?.index ?? stdout.length
  const imports = readImports(stdout.slice(listed))
  // Fails if the compiler changes its wording: an unreadable list would otherwise pass as one without imports.
  const wrong =
    imports.length > 0
      ? [...findUpwardImports(imports), ...findSeamBreaks(imports, capabilities)]
      : ['tsc --explainFiles lists no imports.']
  process.stdout.write(stdout.slice(0, listed) + wrong.map(sentence => `${sentence}\n`).join(''))
  const others = ['portal', 'examples'].map(folder => run(compiler, [...oneChecker, '-p', folder]).status)
  return status === 0 && wrong.length === 0 && others.every(ended => ended === 0)
}

const checkLint = (): boolean => run(findTool('.bin/biome'), ['check', '--error-on-warnings', '.']).status === 0

/** Checks that the product's patterns take linear time and that every schema with a pattern has a maxLength. */
const checkPatterns = (): boolean =>
  run(process.execPath, ['--disable-warning=ExperimentalWarning', 'dev/patterns.ts']).status === 0

/** Checks the OpenAPI documents of both services against the rules in dev/redocly.yaml. */
const checkDocuments = (): boolean => {
  const folder = join(root, 'node_modules/.cache/openapi')
  mkdirSync(folder, { recursive: true })
  const files = Object.entries(documents).map(([name, document]) => {
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify(document, null, 2))
    return file
  })
  const program = findTool('@redocly/cli/bin/cli.js')
  // Keeps the linter from looking for a newer version and from sending reports.
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NODE_NO_WARNINGS: '1' }
  return run(process.execPath, [program, 'lint', '--config', 'dev/redocly.yaml', ...files], { env }).status === 0
}

const capabilities = await readCapabilities()
const documents = await readDocuments()
await writeTypes(documents)
const ok = [checkTypes(), checkLint(), checkPatterns(), checkDocuments()].every(Boolean)
process.exit(ok ? 0 : 1)
