// Finds slow regular expressions in the product. Runs as a process of its own, because it hooks into module loading.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Node, parse } from 'acorn'
import { simple } from 'acorn-walk'
import { check as checkSpeed } from 'recheck'

interface Pattern {
  readonly source: string
  readonly flags: string
}

/** Locates a pattern: a literal, RegExp's first argument, or the property `pattern` of an object. */
interface Spot {
  readonly node: Node
  /** Holds the pattern of a literal. */
  readonly pattern?: Pattern
  /** Is false for a property `pattern` without `maxLength` beside it. */
  readonly isBounded: boolean
}

const readName = (node: Node): string | undefined => ('name' in node ? String(node.name) : undefined)

const findSpots = (code: string): Spot[] => {
  const spots: Spot[] = []
  const visitCall = ({ callee, arguments: [node] }: { callee: Node; arguments: Node[] }) => {
    if (node && readName(callee) === 'RegExp') spots.push({ node, isBounded: true })
  }
  simple(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }), {
    Literal(node) {
      const { regex } = node
      if (regex) spots.push({ node, pattern: { source: regex.pattern, flags: regex.flags }, isBounded: true })
    },
    NewExpression: visitCall,
    CallExpression: visitCall,
    ObjectExpression({ properties }) {
      const values = new Map(
        properties.flatMap(each => (each.type === 'Property' ? [[readName(each.key), each.value]] : [])),
      )
      const node = values.get('pattern')
      if (node) spots.push({ node, isBounded: values.has('maxLength') })
    },
  })
  return spots
}

/** Returns true for programs, which are read but not imported: an import would run them. */
const isProgram = (file: string): boolean => /\/(main|admin)\.ts$/.test(file)

/**
 * Returns one sentence for each problem with a pattern in `folders` of `root`, except in tests. Checks literals as
 * written, and the patterns that are computed or in schemas by the values they have when their files are imported.
 */
export const findSlowPatterns = async (root: string, folders: readonly string[]): Promise<string[]> => {
  const found = folders.flatMap(folder => globSync(`${folder}/**/*.ts`, { cwd: root }))
  const files = found.filter(file => !/node_modules|\.test\.ts$|\/test\//.test(file)).map(file => join(root, file))
  const problems = new Set<string>()
  const unchecked = new Set<string>()
  const patterns: { where: string; pattern: Pattern }[] = []
  const check = (where: string, pattern: Pattern) => patterns.push({ where, pattern })
  const note = (where: string, isBounded: boolean, value: unknown): unknown => {
    unchecked.delete(where)
    if (typeof value === 'string') check(where, { source: value, flags: '' })
    if (typeof value === 'string' && !isBounded) problems.add(`${where} has a pattern and no maxLength`)
    return value
  }
  /** Checks the file's literals. Returns its code with each computed pattern wrapped in a call of `notePattern`. */
  const instrument = (file: string): string => {
    const code = stripTypeScriptTypes(readFileSync(file, 'utf8'))
    const edits: { at: number; text: string }[] = []
    for (const { node, pattern, isBounded } of findSpots(code)) {
      const where = `${relative(root, file)}:${node.loc?.start.line}`
      if (pattern) check(where, pattern)
      else if ('value' in node) note(where, isBounded, node.value)
      else {
        unchecked.add(where)
        edits.push({ at: node.start, text: `notePattern(${JSON.stringify(where)}, ${isBounded}, ` })
        edits.push({ at: node.end, text: ')' })
      }
    }
    return edits
      .sort((a, b) => b.at - a.at)
      .reduce((text, edit) => text.slice(0, edit.at) + edit.text + text.slice(edit.at), code)
  }
  Object.assign(globalThis, { notePattern: note })
  const ours = new Map(files.map(file => [pathToFileURL(file).href, file]))
  registerHooks({
    load: (url, context, next) => {
      const file = ours.get(url)
      return file === undefined
        ? next(url, context)
        : { format: 'module', source: instrument(file), shortCircuit: true }
    },
  })
  for (const [url, file] of ours)
    if (isProgram(file)) instrument(file)
    else await import(url)
  const findVerdict = readVerdicts()
  for (const { where, pattern } of patterns) {
    const verdict = await findVerdict(pattern)
    if (verdict) problems.add(`${where} /${pattern.source}/${pattern.flags} ${verdict}`)
  }
  findVerdict.save()
  for (const where of unchecked) problems.add(`${where} makes a pattern when it runs: it cannot be checked`)
  return [...problems]
}

const verdictsFile = join(import.meta.dirname, '../node_modules/.cache/courier/patterns.json')

/** Reads the verdicts of recheck, cached between runs; '' stands for a pattern that takes linear time. */
const readVerdicts = () => {
  let kept: Record<string, string> = {}
  try {
    kept = JSON.parse(readFileSync(verdictsFile, 'utf8'))
  } catch {}
  const used: Record<string, string> = {}
  const findVerdict = async (pattern: Pattern): Promise<string> => {
    const key = `${pattern.source}/${pattern.flags}`
    used[key] ??= kept[key] ?? (await checkPattern(pattern))
    return used[key]
  }
  const save = () => {
    mkdirSync(dirname(verdictsFile), { recursive: true })
    writeFileSync(verdictsFile, JSON.stringify({ ...kept, ...used }))
  }
  return Object.assign(findVerdict, { save })
}

/** Treats an upper bound of ten or more as unbounded, which is never faster to match and much quicker to check. */
const checkPattern = async ({ source, flags }: Pattern): Promise<string> => {
  const result = await checkSpeed(source.replace(/(?<!\\)\{(\d+),\d{2,}\}/g, '{$1,}'), flags, {
    timeout: 20_000,
    randomSeed: 1,
  })
  if (result.status === 'safe') return ''
  if (result.status === 'unknown') return `could not be checked: ${result.error.kind}`
  return `is slow, ${result.complexity.summary}: ${result.attack.pattern}`
}

if (import.meta.main) {
  const problems = await findSlowPatterns(join(import.meta.dirname, '..'), ['services', 'shared', 'simulator'])
  for (const problem of problems) process.stdout.write(`${problem}\n`)
  process.exit(problems.length > 0 ? 1 : 0)
}
