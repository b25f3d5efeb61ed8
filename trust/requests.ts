import fc from 'fast-check'
import type { Operation, Parameter } from './document.ts'
import { bodies, validFor } from './inputs.ts'
import { anyText } from './odd-values.ts'

/** What a fuzzer must know of an operation to get past its first checks. By operation id. */
export interface Hints {
  /** Bodies that are right in this world. */
  readonly bodies?: readonly unknown[]
  /** Queries that are right. */
  readonly queries?: readonly string[]
  /** Headers that depend on the body, such as its signature. */
  readonly headersOf?: (body: Buffer) => Record<string, string>
}

/** One call of an operation. */
export interface Call {
  readonly pathValues: Readonly<Record<string, PathValue>>
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** `known`: the how-manieth value of those that are in use. `raw`: as it stands in the address. */
export type PathValue = { known: number } | { raw: string }

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())
const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const brokenEscapes = ['%', '%zz', '%ff', '%ed%a0%80', '%00', '%2f', '%2e%2e', '%c0%ae', '+', ';a=b', 'x'.repeat(300)]

const pathValue = ({ schema }: Parameter): fc.Arbitrary<PathValue> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.nat(1_000).map(known => ({ known })) },
    { weight: 2, arbitrary: validFor(schema).map(value => ({ raw: encoded(textOf(value)) })) },
    { weight: 1, arbitrary: anyText.map(text => ({ raw: encoded(text.slice(0, 400)) })) },
    { weight: 1, arbitrary: fc.constantFrom(...brokenEscapes).map(raw => ({ raw })) },
  )

const pair = (name: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 5, arbitrary: value.map(value => `${encoded(name)}=${encoded(textOf(value).slice(0, 3_000))}`) },
    { weight: 3, arbitrary: anyText.map(text => `${encoded(name)}=${encoded(text.slice(0, 3_000))}`) },
    { weight: 1, arbitrary: fc.constantFrom(...brokenEscapes).map(raw => `${encoded(name)}=${raw}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(`${name}`, `${name}[]=1`, `${name}[a]=1`, `${name}=1&${name}=2`, `${name}=`),
    },
  )

const query = (parameters: readonly Parameter[]): fc.Arbitrary<string> => {
  const known = parameters.map(({ name, schema }) => pair(name, validFor(schema)))
  const stray = fc
    .oneof(anyText, fc.constantFrom('page', '__proto__', 'constructor'))
    .chain(name => pair(name, anyText))
  const drawn =
    known.length === 0 ? stray : fc.oneof({ weight: 8, arbitrary: fc.oneof(...known) }, { weight: 1, arbitrary: stray })
  return fc
    .array(drawn, { maxLength: known.length === 0 ? 1 : 3 })
    .map(pairs => (pairs.length > 0 ? `?${pairs.join('&')}` : ''))
}

const queries = (parameters: readonly Parameter[], right: readonly string[]): fc.Arbitrary<string> =>
  right.length === 0 ? query(parameters) : fc.oneof(fc.constantFrom(...right), query(parameters))

/** What may travel in a header. */
const headerText = (text: string): string =>
  text
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 2_000)
    .trim()

const oddTypes = [
  'text/plain',
  'APPLICATION/JSON',
  'application/json; charset=utf-16',
  'application/json;',
  'a/b/c',
  '/',
  '',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/vnd.api+json',
]

const oddHeader = (names: readonly string[]): fc.Arbitrary<[string, string]> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.tuple(
        fc.constantFrom(
          ...names,
          'x-tenant',
          'idempotency-key',
          'accept',
          'authorization',
          'x-request-id',
          'content-encoding',
          'origin',
          'x-forwarded-for',
        ),
        anyText.map(headerText),
      ),
    },
    { weight: 2, arbitrary: fc.tuple(fc.constant('content-type'), fc.constantFrom(...oddTypes)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<[string, string][]>(
        ['content-encoding', 'gzip'],
        ['expect', 'a miracle'],
        ['authorization', 'Basic eA=='],
        ['x-tenant', 'rival'],
        ['range', 'bytes=0-1'],
        ['if-none-match', '*'],
      ),
    },
  )

/** Calls of an operation by someone with `token`. */
export const callsOf = (operation: Operation, token: string, hints: Hints = {}): fc.Arbitrary<Call> => {
  const ofPart = (part: Parameter['in']) => operation.parameters.filter(parameter => parameter.in === part)
  const names = ofPart('header').map(({ name }) => name)
  const body =
    operation.body === undefined
      ? fc.oneof(
          { weight: 20, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: anyText.map(text => Buffer.from(text)) },
        )
      : bodies(operation.body, [...(hints.bodies ?? []), ...(operation.example ? [operation.example] : [])])
  return fc
    .record({
      pathValues: fc.record(
        Object.fromEntries(ofPart('path').map(parameter => [parameter.name, pathValue(parameter)])),
      ),
      query: queries(ofPart('query'), hints.queries ?? []),
      odd: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(oddHeader(names), { maxLength: 3 }) },
      ),
      body,
      key: fc.option(fc.uuid(), { freq: 6, nil: undefined }),
    })
    .map(({ pathValues, query, odd, body, key }) => ({
      pathValues,
      query,
      body,
      headers: {
        authorization: `Bearer ${token}`,
        'x-tenant': 'demo',
        ...(body && { 'content-type': 'application/json', ...hints.headersOf?.(body) }),
        ...(key && { 'idempotency-key': key }),
        ...Object.fromEntries(odd),
      },
    }))
}

/** The call's address. `known` gives the values in use of a parameter. */
export const addressOf = ({ path }: Operation, call: Call, known: (name: string) => readonly string[]): string => {
  const filled = path.replace(/\{([^}]+)\}/g, (_all, name: string) => {
    const value = call.pathValues[name] ?? { raw: '' }
    const values = known(name)
    return 'raw' in value ? value.raw || '0' : encoded(values[value.known % Math.max(values.length, 1)] ?? '0')
  })
  return filled + call.query
}
