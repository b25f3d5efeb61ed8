import fc from 'fast-check'
import type { Operation, Parameter } from './document.ts'
import { hints } from './hints.ts'
import { bodies, buildRequest, generateValid, toHeaderText } from './inputs.ts'
import { anyText, mix } from './odd-values.ts'
import type { Headers, Request } from './sender.ts'

export interface DrawnRequest extends Request {
  /** true: a path parameter is odd, so the path may name no resource. */
  readonly isOddPath: boolean
}

const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const brokenEscapes = ['%', '%zz', '%ff', '%ed%a0%80', '%00', '%2f', '%2e%2e', '%c0%ae', '+', ';a=b', 'x'.repeat(300)]

/** Generates a path value; `known` returns a parameter's values in use. */
const pathValue = ({ name, schema }: Parameter, known: (name: string) => readonly string[]) => {
  const odd = (text: string) => ({ text: text || '0', isOdd: true })
  return mix(
    [6, fc.nat(1_000).map(n => ({ text: encode(known(name)[n % known(name).length] ?? '0'), isOdd: false }))],
    [2, generateValid(schema).map(value => odd(encode(toText(value))))],
    [1, anyText.map(text => odd(encode(text.slice(0, 400))))],
    [1, fc.constantFrom(...brokenEscapes).map(odd)],
  )
}

const pair = (name: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  mix(
    [5, value.map(value => `${encode(name)}=${encode(toText(value).slice(0, 3_000))}`)],
    [3, anyText.map(text => `${encode(name)}=${encode(text.slice(0, 3_000))}`)],
    [1, fc.constantFrom(...brokenEscapes).map(raw => `${encode(name)}=${raw}`)],
    [1, fc.constantFrom('', '[]=1', '[a]=1', `=1&${encode(name)}=2`, '=').map(rest => encode(name) + rest)],
  )

/** Generates queries: the ones in `right`, and others of up to three parameters, some of them undocumented. */
const queries = (parameters: readonly Parameter[], right: readonly string[]): fc.Arbitrary<string> => {
  const stray = fc.oneof(anyText, fc.constantFrom('page', '__proto__')).chain(name => pair(name, anyText))
  const known = parameters.map(({ name, schema }) => pair(name, generateValid(schema)))
  const drawn = fc.array(fc.oneof(...known, stray), { maxLength: known.length === 0 ? 1 : 3 })
  return fc.oneof(
    ...right.map(text => fc.constant(text)),
    drawn.map(pairs => pairs.join('&')),
  )
}

const oddTypes = ['text/plain', 'APPLICATION/JSON', 'application/json; charset=utf-16', 'application/json;', '/', '']
const commonHeaders = ['x-tenant', 'idempotency-key', 'accept', 'authorization', 'x-request-id', 'x-forwarded-for']
const oddHeaders: [string, string][] = [
  ['content-encoding', 'gzip'],
  ['expect', 'a miracle'],
  ['authorization', 'Basic eA=='],
  ['x-tenant', 'rival'],
]

const oddHeader = (names: readonly string[]): fc.Arbitrary<[string, string]> =>
  fc.oneof(
    fc.tuple(
      fc.constantFrom(...names, ...commonHeaders),
      anyText.map(text => toHeaderText(text.slice(0, 2_000))),
    ),
    fc.tuple(fc.constant('content-type'), fc.constantFrom(...oddTypes, 'multipart/form-data')),
    fc.constantFrom(...oddHeaders),
  )

/** Generates requests for an operation, valid and invalid ones, with these headers. */
export const generateRequests = (
  operation: Operation,
  headers: Headers,
  known: (name: string) => readonly string[],
): fc.Arbitrary<DrawnRequest> => {
  const { id, parameters, body: schema, example } = operation
  const { bodies: right = [], queries: rightQueries = [] } = hints[id] ?? {}
  const selectIn = (part: Parameter['in']) => parameters.filter(parameter => parameter.in === part)
  const names = selectIn('header').map(({ name }) => name)
  const anyBody = mix<Buffer | undefined>([20, fc.constant(undefined)], [1, anyText.map(text => Buffer.from(text))])
  return fc
    .record({
      values: fc.record(Object.fromEntries(selectIn('path').map(each => [each.name, pathValue(each, known)]))),
      query: queries(selectIn('query'), rightQueries),
      odd: mix<[string, string][]>([3, fc.constant([])], [1, fc.array(oddHeader(names), { maxLength: 3 })]),
      body: schema === undefined ? anyBody : bodies(schema, [...right, ...(example ? [example] : [])]),
      key: names.includes('idempotency-key')
        ? fc.option(fc.uuid(), { freq: 6, nil: undefined })
        : fc.constant(undefined),
    })
    .map(({ values, query, odd, body, key }) => {
      const path = Object.fromEntries(Object.entries(values).map(([name, { text }]) => [name, text]))
      const own = { ...(key && { 'idempotency-key': key }), ...Object.fromEntries(odd) }
      const request = buildRequest(operation, { headers, isRight: true }, { path, search: query, headers: own, body })
      return { ...request, isOddPath: Object.values(values).some(({ isOdd }) => isOdd) }
    })
}
