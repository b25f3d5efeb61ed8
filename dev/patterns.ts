// Finds slow regular expressions in the product. Runs as a process of its own: it hooks into module loading.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Node, type Program, parse } from 'acorn'
import { simple } from 'acorn-walk'
import { checkSync } from 'recheck'

interface Pattern {
  readonly source: string
  readonly flags: string
}

/** An expression that evaluates to a pattern: RegExp's first argument, or a property `pattern`. */
interface Computed {
  readonly node: Node
  readonly isBounded: boolean
}

const nameOf = (node: Node): string | undefined => ('name' in node ? String(node.name) : undefined)

const patternsIn = (program: Program) => {
  const literals: { node: Node; pattern: Pattern }[] = []
  const computed: Computed[] = []
  const ofCall = ({ callee, arguments: [node] }: { callee: Node; arguments: Node[] }) => {
    if (node && nameOf(callee) === 'RegExp') computed.push({ node, isBounded: true })
  }
  simple(program, {
    Literal(node) {
      if (node.regex) literals.push({ node, pattern: { source: node.regex.pattern, flags: node.regex.flags } })
    },
    NewExpression: ofCall,
    CallExpression: ofCall,
    ObjectExpression({ properties }) {
      const values = new Map(
        properties.flatMap(each => (each.type === 'Property' ? [[nameOf(each.key), each.value]] : [])),
      )
      const node = values.get('pattern')
      if (node) computed.push({ node, isBounded: values.has('maxLength') })
    },
  })
  return { literals, computed }
}

const read = (file: string) => {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'))
  return { code, ...patternsIn(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true })) }
}

/** The file's code with each computed pattern wrapped in a call of `notePattern`. */
const instrument = (file: string, root: string): string => {
  const { code, computed } = read(file)
  return computed
    .flatMap(({ node, isBounded }) => [
      { at: node.start, text: `notePattern(${JSON.stringify(placeOf(root, file, node))}, ${isBounded}, ` },
      { at: node.end, text: ')' },
    ])
    .sort((a, b) => b.at - a.at)
    .reduce((edited, { at, text }) => edited.slice(0, at) + text + edited.slice(at), code)
}

const placeOf = (root: string, file: string, node: Node): string => `${relative(root, file)}:${node.loc?.start.line}`

/** Programs are read but not imported: that would run them. */
const isProgram = (file: string): boolean => /\/(main|admin)\.ts$/.test(file)

/**
 * One sentence for each problem with a pattern of `folders` in `root`, tests excepted. Literals are checked as written,
 * computed ones and those of schemas by the values they have when their files are imported.
 */
export const findSlowPatterns = async (root: string, folders: readonly string[]): Promise<string[]> => {
  const files = globSync(
    folders.map(folder => `${folder}/**/*.ts`),
    { cwd: root },
  )
    .filter(file => !/node_modules|\.test\.ts$|\/test\//.test(file))
    .map(file => join(root, file))
  const problems = new Set<string>()
  const verdictOf = readVerdicts()
  const check = (where: string, pattern: Pattern) => {
    const verdict = verdictOf(pattern)
    if (verdict) problems.add(`${where} /${pattern.source}/${pattern.flags} ${verdict}`)
  }
  const late = new Set<string>()
  const note = (where: string, isBounded: boolean, value: unknown) => {
    late.delete(where)
    if (typeof value === 'string') check(where, { source: value, flags: '' })
    if (typeof value === 'string' && !isBounded) problems.add(`${where} has a pattern and no maxLength`)
    return value
  }
  for (const file of files) {
    const { literals, computed } = read(file)
    for (const { node, pattern } of literals) check(placeOf(root, file, node), pattern)
    for (const { node, isBounded } of computed)
      if ('value' in node) note(placeOf(root, file, node), isBounded, node.value)
      else late.add(placeOf(root, file, node))
  }
  Object.assign(globalThis, { notePattern: note })
  const ours = new Set(files.map(file => pathToFileURL(file).href))
  registerHooks({
    load: (url, context, next) =>
      ours.has(url)
        ? { format: 'module', source: instrument(fileURLToPath(url), root), shortCircuit: true }
        : next(url, context),
  })
  for (const url of ours) if (!isProgram(url)) await import(url)
  verdictOf.save()
  for (const where of late) problems.add(`${where} makes a pattern when it runs: it cannot be checked`)
  return [...problems]
}

const verdictsFile = join(import.meta.dirname, '../node_modules/.cache/courier/patterns.json')

/** Verdicts of recheck, cached between runs; '' for a pattern that takes linear time. */
const readVerdicts = () => {
  let kept: Record<string, string> = {}
  try {
    kept = JSON.parse(readFileSync(verdictsFile, 'utf8'))
  } catch {}
  const used: Record<string, string> = {}
  const verdictOf = (pattern: Pattern): string => {
    const key = `${pattern.source}/${pattern.flags}`
    used[key] ??= kept[key] ?? verdict(pattern)
    return used[key]
  }
  const save = () => {
    mkdirSync(dirname(verdictsFile), { recursive: true })
    writeFileSync(verdictsFile, JSON.stringify({ ...kept, ...used }))
  }
  return Object.assign(verdictOf, { save })
}

/** Reads an upper bound of ten or more as unbounded: never faster to match, and much quicker to check. */
const verdict = ({ source, flags }: Pattern): string => {
  const result = checkSync(source.replace(/(?<!\\)\{(\d+),\d{2,}\}/g, '{$1,}'), flags, {
    timeout: 20_000,
    randomSeed: 1,
  })
  if (result.status === 'safe') return ''
  if (result.status === 'unknown') return `is not understood: ${result.error.kind}`
  return `is slow, ${result.complexity.summary}: ${result.attack.pattern}`
}

if (import.meta.main) {
  const problems = await findSlowPatterns(join(import.meta.dirname, '..'), ['services', 'shared', 'simulator'])
  for (const problem of problems) process.stdout.write(`${problem}\n`)
  process.exit(problems.length > 0 ? 1 : 0)
}
