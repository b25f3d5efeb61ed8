import { stripTypeScriptTypes } from 'node:module'
import { type AnyNode, parse } from 'acorn'
import { full } from 'acorn-walk'

type Edit = Pick<AnyNode, 'start' | 'end'> & { readonly text: string }

/** Describes a file with one change that a test should notice. */
interface Mutant {
  readonly line: number
  /** Shows the change and its line, and is unique in its file. */
  readonly name: string
  readonly code: string
}

/** Lists the operators and method names that replace each other. */
const pairs = [
  ['<', '<='],
  ['<', '>='],
  ['>', '>='],
  ['>', '<='],
  ['===', '!=='],
  ['&&', '||'],
  ['+', '-'],
  ['*', '/'],
  ['++', '--'],
  ['+=', '-='],
  ['>>>', '<<'],
  ['some', 'every'],
  ['min', 'max'],
  ['floor', 'ceil'],
] as const
const findOthers = (name: string): string[] =>
  pairs.flatMap(([one, other]) => (one === name ? other : other === name ? one : []))

const replaceNode = ({ start, end }: Pick<AnyNode, 'start' | 'end'>, ...texts: string[]): Edit[] =>
  texts.map(text => ({ start, end, text }))

/** Replaces the first `operator` at or after `from`. */
const swapOperator = (code: string, operator: string, from: number): Edit[] => {
  const start = code.indexOf(operator, from)
  return replaceNode({ start, end: start + operator.length }, ...findOthers(operator))
}

/** Replaces a condition with true or false, but never negates it: tests that notice both values notice a negation. */
const forceCondition = (test: AnyNode | null | undefined): Edit[] =>
  test && test.type !== 'Literal' ? replaceNode(test, 'true', 'false') : []

const listEdits = (code: string, node: AnyNode): Edit[] => {
  switch (node.type) {
    case 'LogicalExpression':
      if (node.operator === '??') return []
      return [...swapOperator(code, node.operator, node.left.end), ...[node.left, node.right].flatMap(forceCondition)]
    case 'BinaryExpression':
    case 'AssignmentExpression':
      return swapOperator(code, node.operator, node.left.end)
    case 'UpdateExpression':
      return swapOperator(code, node.operator, node.start)
    case 'UnaryExpression':
      return node.operator === '!' || node.operator === '-'
        ? replaceNode(node, `(${code.slice(node.argument.start, node.end)})`)
        : []
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'ForStatement':
    case 'WhileStatement':
      return forceCondition(node.test)
    case 'Literal':
      if (typeof node.value === 'boolean') return replaceNode(node, String(!node.value))
      if (typeof node.value === 'number') return replaceNode(node, String(node.value + 1))
      return typeof node.value === 'string' ? replaceNode(node, node.value === '' ? "'mutant'" : "''") : []
    case 'ReturnStatement':
      return /^return( undefined)?;?$/.test(code.slice(node.start, node.end)) ? [] : replaceNode(node, 'return')
    case 'ExpressionStatement':
    case 'ContinueStatement':
    case 'ThrowStatement':
      return replaceNode(node, ';')
    case 'MemberExpression':
      return node.property.type === 'Identifier' ? replaceNode(node.property, ...findOthers(node.property.name)) : []
    default:
      return []
  }
}

const shorten = (text: string): string => {
  const words = text.replace(/\s+/g, ' ').trim()
  return words.length > 60 ? `${words.slice(0, 40)} ... ${words.slice(-15)}` : words
}

/** Makes every mutant of a TypeScript source, in line order. Leaves imports as they are. */
export const findMutants = (source: string): Mutant[] => {
  const code = stripTypeScriptTypes(source)
  const edits = new Map<string, Edit>()
  for (const statement of parse(code, { ecmaVersion: 'latest', sourceType: 'module' }).body) {
    if (statement.type === 'ImportDeclaration') continue
    full(statement, node => {
      for (const edit of listEdits(code, node as AnyNode)) edits.set(JSON.stringify(edit), edit)
    })
  }
  const names = new Map<string, number>()
  return [...edits.values()]
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .map(({ start, end, text }) => {
      const line = source.slice(0, start).split('\n').length
      const name = `${shorten(source.slice(start, end))} -> ${text} in ${shorten(source.split('\n')[line - 1] ?? '')}`
      const count = (names.get(name) ?? 0) + 1
      names.set(name, count)
      const changed = code.slice(0, start) + text + code.slice(end)
      return { line, name: count > 1 ? `${name} (${count})` : name, code: changed }
    })
}
