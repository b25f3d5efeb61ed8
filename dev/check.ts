import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findUpwardImports, readImports } from './layers.ts'
import { readDocuments, writeTypes } from './openapi.ts'
import { root } from './settings.ts'

const runTool = (path: string, args: readonly string[], stdout: 'inherit' | 'pipe') =>
  spawnSync(join(root, 'node_modules', path), args, {
    cwd: root,
    stdio: ['inherit', stdout, 'inherit'],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })

/** Each checker computes the same types again: one takes half the CPU of the default four. */
const oneChecker = ['--checkers', '1']

/** Checks types, and by the compiler's list of imports that folders import only from those below them. */
const checkTypes = (): boolean => {
  const { status, stdout } = runTool(
    'typescript-7/bin/tsc',
    [...oneChecker, '-p', '.', '--explainFiles', '--pretty', 'false'],
    'pipe',
  )
  const listed = /^.*\.d\.ts$/m.exec(stdout)?.index ?? stdout.length
  const imports = readImports(stdout.slice(listed))
  // Fails if the compiler changes its wording, which would otherwise pass as no imports.
  const upward = imports.length > 0 ? findUpwardImports(imports) : ['tsc --explainFiles lists no imports.']
  process.stdout.write(stdout.slice(0, listed) + upward.map(sentence => `${sentence}\n`).join(''))
  const others = ['portal', 'examples'].map(folder => runTool('typescript-7/bin/tsc', ['-p', folder], 'inherit').status)
  return status === 0 && upward.length === 0 && others.every(ended => ended === 0)
}

const checkLint = (): boolean => runTool('.bin/biome', ['check', '--error-on-warnings', '.'], 'inherit').status === 0

/** Checks that product patterns take linear time and that every schema with a pattern has a maxLength. */
const checkPatterns = (): boolean =>
  spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'dev/patterns.ts')], {
    cwd: root,
    stdio: 'inherit',
  }).status === 0

/** Checks the OpenAPI documents of both services by dev/redocly.yaml. */
const checkDocuments = (): boolean => {
  const folder = join(root, 'node_modules/.cache/openapi')
  mkdirSync(folder, { recursive: true })
  const files = Object.entries(documents).map(([name, document]) => {
    const file = join(folder, `${name}.json`)
    writeFileSync(file, JSON.stringify(document, null, 2))
    return file
  })
  const program = join(root, 'node_modules/@redocly/cli/bin/cli.js')
  const { status } = spawnSync(process.execPath, [program, 'lint', '--config', 'dev/redocly.yaml', ...files], {
    cwd: root,
    stdio: 'inherit',
    // The linter looks for no newer version and sends no reports.
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NODE_NO_WARNINGS: '1' },
  })
  return status === 0
}

const documents = await readDocuments()
await writeTypes(documents)
const ok = [checkTypes(), checkLint(), checkPatterns(), checkDocuments()].every(Boolean)
process.exit(ok ? 0 : 1)
