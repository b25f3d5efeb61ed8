// Runs tests again and again in one process, each time with another code of one file. A process for each run would take longer
// than all tests.
import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Test, type TestOpts } from 'tap'
import type { Run } from './mutants.ts'
import { root } from './settings.ts'

const ours = pathToFileURL(`${root}/`).href
const isOurs = (url: string): boolean => url.startsWith(ours) && !url.includes('/node_modules/')

/** The importers of each module, by the imports of the first run. */
const importers = new Map<string, Set<string>>()
const stripped = new Map<string, string>()
/** Modules that import the file, directly or not: they are loaded again for each run, as the file and tap's `t`. */
let affected: ReadonlySet<string> | undefined
let code: string | null = null
let fileUrl = ''
let runs = 0
/** Of each run. */
const tests = new Map<string, Test>()
Object.assign(globalThis, { mutantTests: tests })

const bare = (url: string): string => url.replace(/\?run=\d+$/, '')

registerHooks({
  resolve: (specifier, context, next) => {
    const parent = context.parentURL ?? ''
    if (specifier === 'tap' && isOurs(parent)) return { url: `tap-of:${runs}`, shortCircuit: true }
    const resolved = next(specifier, context)
    const { url } = resolved
    if (!isOurs(url)) return resolved
    const known = importers.get(bare(url)) ?? new Set()
    importers.set(bare(url), known.add(bare(parent)))
    return !affected || affected.has(bare(url))
      ? { ...resolved, url: `${bare(url)}?run=${runs}` }
      : { ...resolved, url: `${bare(url)}?run=1` }
  },
  load: (url, context, next) => {
    if (url.startsWith('tap-of:')) {
      const source = `export default globalThis.mutantTests.get(${JSON.stringify(url.slice(7))})`
      return { format: 'module', source, shortCircuit: true }
    }
    if (!url.includes('?run=')) return next(url, context)
    const path = fileURLToPath(bare(url))
    if (!path.endsWith('.ts')) return next(bare(url), context)
    const source = stripped.get(path) ?? stripTypeScriptTypes(readFileSync(path, 'utf8'))
    stripped.set(path, source)
    return { format: 'module', source: bare(url) === fileUrl && code !== null ? code : source, shortCircuit: true }
  },
})

const importersOf = (url: string, found = new Set<string>()): Set<string> => {
  if (found.has(url)) return found
  found.add(url)
  for (const importer of importers.get(url) ?? []) importersOf(importer, found)
  return found
}

/** Whether every assertion of one test file holds; it ends with the first that does not. */
const passes = async (path: string): Promise<boolean> => {
  const options: TestOpts = { name: path, bail: true }
  const test = new Test(options)
  tests.set(String(runs), test)
  test.resume()
  const ended = new Promise<boolean>(resolve => {
    test.on('bailout', () => resolve(false))
    test.on('end', () => resolve(test.passing() && test.counts.total > 0))
  })
  try {
    await import(`${pathToFileURL(path).href}?run=${runs}`)
  } catch {
    return false
  }
  test.end()
  return ended
}

process.on('unhandledRejection', () => {})
process.on('uncaughtException', () => {})
process.on('disconnect', () => process.exit())
process.on('message', async (run: Run) => {
  code = run.code
  fileUrl = pathToFileURL(join(root, run.file)).href
  let passed = true
  for (const path of run.tests) {
    runs++
    passed &&= await passes(join(root, path))
  }
  affected ??= importersOf(fileUrl)
  process.send?.(passed)
})
