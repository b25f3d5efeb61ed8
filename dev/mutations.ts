import { stripTypeScriptTypes } from 'node:module'
import { type AnyNode, parse } from 'acorn'
import { full } from 'acorn-walk'

/** A file with one change that a test should notice. */
interface Mutant {
  readonly line: number
  /** The change and its line, which is unique in its file. */
  readonly name: string
  readonly code: string
}

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const operators: Record<string, readonly string[]> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '++': ['--'],
  '--': ['++'],
}
const methods: Record<string, string> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  find: 'findLast',
  toLowerCase: 'toUpperCase',
  endsWith: 'startsWith',
}
/** Methods that return the type of their object, which can replace the call. */
const droppable = new Set(['filter', 'toSorted', 'slice', 'replace', 'replaceAll', 'trim', 'map'])

/** Finds the first `operator` after `start`, behind the operand that ends there. */
const swapped = (code: string, operator: string, start: number): Edit[] => {
  const at = code.indexOf(operator, start)
  return (operators[operator] ?? []).map(text => ({ start: at, end: at + operator.length, text }))
}

const replaced = ({ start, end }: AnyNode, ...texts: string[]): Edit[] => texts.map(text => ({ start, end, text }))

/** Finds an item of a list, with the comma behind it. */
const withComma = (code: string, { start, end }: AnyNode): Edit => ({
  start,
  end: end + (/^\s*,/.exec(code.slice(end))?.[0].length ?? 0),
  text: '',
})

const ofLiteral = (node: AnyNode & { type: 'Literal' }): Edit[] => {
  const { value, regex } = node
  if (regex) {
    const anchors = [regex.pattern.replace(/^\^/, ''), regex.pattern.replace(/(?<!\\)\$$/, '')]
    const others = anchors.filter(pattern => pattern !== regex.pattern)
    return replaced(node, ...others.map(pattern => `/${pattern}/${regex.flags}`))
  }
  if (typeof value === 'boolean') return replaced(node, String(!value))
  if (typeof value === 'number') return replaced(node, String(value + 1))
  return typeof value === 'string' ? replaced(node, value === '' ? "'mutant'" : "''") : []
}

/** Replaces conditions by true and false, but never negates them: tests that notice the former notice the latter. */
const ofCondition = (test: AnyNode | null | undefined): Edit[] =>
  test && test.type !== 'Literal' ? replaced(test, 'true', 'false') : []

const ofCall = ({ callee, end }: AnyNode & { type: 'CallExpression' }): Edit[] => {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return []
  const { object, property } = callee
  const other = methods[property.name]
  if (other) return replaced(property, other)
  return droppable.has(property.name) ? [{ start: object.end, end, text: '' }] : []
}

const isUndefined = (node: AnyNode): boolean => node.type === 'Identifier' && node.name === 'undefined'

const ofNode = (code: string, node: AnyNode): Edit[] => {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const operands = node.operator === '&&' || node.operator === '||' ? [node.left, node.right] : []
      return [...swapped(code, node.operator, node.left.end), ...operands.flatMap(ofCondition)]
    }
    case 'AssignmentExpression':
      return swapped(code, node.operator, node.left.end)
    case 'UpdateExpression':
      return swapped(code, node.operator, node.start)
    case 'UnaryExpression':
      return node.operator === '!' || node.operator === '-'
        ? replaced(node, `(${code.slice(node.argument.start, node.end)})`)
        : []
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'ForStatement':
    case 'WhileStatement':
      return ofCondition(node.test)
    case 'Literal':
      return ofLiteral(node)
    case 'TemplateElement':
      return node.value.raw.trim() === '' ? [] : replaced(node, '')
    case 'ReturnStatement':
      return node.argument && !isUndefined(node.argument) ? replaced(node, 'return') : []
    case 'ArrowFunctionExpression':
      return node.expression && !isUndefined(node.body) ? [{ ...outermost(code, node.body), text: 'undefined' }] : []
    case 'AssignmentPattern':
      return [{ start: node.left.end, end: node.right.end, text: '' }]
    case 'ExpressionStatement':
    case 'ContinueStatement':
    case 'ThrowStatement':
      return 'directive' in node ? [] : replaced(node, ';')
    case 'ObjectExpression':
      return node.properties.map(each => withComma(code, each))
    case 'ArrayExpression':
      return node.elements.flatMap(each => (each ? [withComma(code, each)] : []))
    case 'CallExpression':
      return [...(node.optional ? swappedDot(code, node.callee.end) : []), ...ofCall(node)]
    case 'MemberExpression':
      return node.optional ? swappedDot(code, node.object.end) : []
    default:
      return []
  }
}

/** Replaces `?.` by `.`, or by nothing before a bracket. */
const swappedDot = (code: string, start: number): Edit[] => {
  const at = code.indexOf('?.', start)
  return [{ start: at, end: at + 2, text: /[[(]/.test(code[at + 2] ?? '') ? '' : '.' }]
}

/** Brackets around an arrow function's object are part of its body. */
const outermost = (code: string, { start, end }: AnyNode): { start: number; end: number } => {
  const opened = /\(\s*$/.exec(code.slice(0, start))
  const closed = /^\s*\)/.exec(code.slice(end))
  return code[start] === '{' && opened && closed ? { start: opened.index, end: end + closed[0].length } : { start, end }
}

const short = (text: string): string => {
  const words = text.replace(/\s+/g, ' ').trim()
  return words.length > 60 ? `${words.slice(0, 40)} ... ${words.slice(-15)}` : words
}

/** Makes every mutant of TypeScript, in the order of its lines. Keeps the texts of imports. */
export const findMutants = (source: string): Mutant[] => {
  const code = stripTypeScriptTypes(source)
  const edits = new Map<string, Edit>()
  const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module' })
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration') continue
    full(statement, node => {
      for (const edit of ofNode(code, node as AnyNode)) edits.set(JSON.stringify(edit), edit)
    })
  }
  const names = new Map<string, number>()
  return [...edits.values()]
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .map(({ start, end, text }) => {
      const line = source.slice(0, start).split('\n').length
      const name = `${short(source.slice(start, end))} -> ${text || 'nothing'} in ${short(source.split('\n')[line - 1] ?? '')}`
      const count = (names.get(name) ?? 0) + 1
      names.set(name, count)
      return {
        line,
        name: count > 1 ? `${name} (${count})` : name,
        code: code.slice(0, start) + text + code.slice(end),
      }
    })
}
