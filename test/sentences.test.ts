import { type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import t from 'tap'
import { readDocuments } from '../dev/openapi.ts'
import { build } from '../services/orders/test/build.ts'
import type { Schema } from '../shared/api-docs/examples.ts'
import { listOperations } from '../shared/api-docs/openapi.ts'
import { isBadText, listErrors } from '../shared/errors/field-errors.ts'

/** Holds a schema with one keyword, a value that violates it, and the words that the sentence must name. */
type Broken = readonly [schema: TSchema, value: unknown, named: readonly unknown[]]

const text = (length: number) => 'x'.repeat(Math.max(0, length))
const keywords: Record<string, (bound: never, schema: Schema) => Broken> = {
  enum: (values: string[]) => [Type.Union(values.map(value => Type.Literal(value))), 'off it', values],
  const: (value: string) => [Type.Literal(value), 'off it', [value]],
  pattern: (pattern: string) => {
    const value = ['\ud800', '\u0000', '', '!?'].find(text => !new RegExp(pattern, 'u').test(text)) ?? ''
    return [Type.String({ pattern }), value, [isBadText(value) ? 'null character' : value && pattern]]
  },
  minLength: (minLength: number) => [Type.String({ minLength: minLength + 1 }), text(minLength), [minLength + 1]],
  maxLength: (maxLength: number) => [Type.String({ maxLength }), text(maxLength + 1), [maxLength]],
  minItems: (minItems: number) => [Type.Array(Type.Any(), { minItems: minItems + 1 }), Array(minItems), [minItems + 1]],
  maxItems: (maxItems: number) => [Type.Array(Type.Any(), { maxItems }), Array(maxItems + 1), [maxItems]],
  uniqueItems: () => [Type.Array(Type.Any(), { uniqueItems: true }), ['a', 'a'], ['the same item twice']],
  minimum: (minimum: number) => [Type.Number({ minimum }), minimum - 1, [minimum]],
  exclusiveMinimum: (bound: number) => [Type.Number({ exclusiveMinimum: bound }), bound, [`more than ${bound}`]],
  maximum: (maximum: number) => [Type.Number({ maximum }), maximum + 1, [maximum]],
  minProperties: (minProperties: number, { properties = {} }) => {
    const names = Object.keys(properties as object)
    const optional = Object.fromEntries(names.map(name => [name, Type.Optional(Type.Any())]))
    return [Type.Object(optional, { minProperties }), {}, [...names]]
  },
  additionalProperties: () => [Type.Object({}, { additionalProperties: false }), { odd: 1 }, ['odd', 'is not known']],
  required: () => [Type.Object({ name: Type.String() }), {}, ['name field is required']],
  type: (type: string) => [Type.Unsafe(Type.Integer()), [], type === 'null' ? [] : ['required']],
}
/** Lists the keywords that reject nothing, or reject only through the schemas in them. */
const others = ['title', 'description', 'default', 'examples', 'example', 'format', 'properties', 'items', 'anyOf']

for (const [name, document] of Object.entries(await readDocuments()))
  t.test(`${name}: the sentence about each keyword of its schemas names the legal values`, async t => {
    const seen = new Set<unknown>()
    const walk = (schema: Schema, path: string): void => {
      const { $ref, properties = {}, items, anyOf = [], additionalProperties } = schema
      const named = document.components.schemas?.[$ref?.split('/').at(-1) ?? '']
      if (named && !seen.has(named)) walk(named, $ref ?? '')
      seen.add(named)
      for (const [keyword, bound] of Object.entries(schema)) {
        if (keyword === '$ref' || others.includes(keyword)) continue
        const breaking = keywords[keyword]
        if (!breaking) {
          t.fail(`${path}: no sentence is known for ${keyword}`)
          continue
        }
        const [broken, value, legal] = breaking(bound as never, schema)
        const { errors } = listErrors(TypeCompiler.Compile(Type.Object({ x: broken })), { x: value })
        const sentences = Object.entries(errors).flat(2).join(' ')
        if (!sentences) t.fail(`${path}: ${value} does not break ${keyword}`)
        for (const each of legal)
          if (!sentences.includes(String(each))) t.fail(`${path} ${keyword}: ${sentences} does not name ${each}`)
      }
      for (const [field, inner] of Object.entries(properties as object)) walk(inner as Schema, `${path}.${field}`)
      for (const inner of [items, additionalProperties, ...anyOf])
        if (typeof inner === 'object') walk(inner as Schema, path)
    }
    for (const { operationId = '', parameters = [], requestBody } of listOperations(document)) {
      for (const { name, schema } of parameters) walk(schema, `${operationId} ${name}`)
      for (const { schema } of Object.values(requestBody?.content ?? {})) if (schema) walk(schema, operationId)
    }
    t.ok(seen.size > 5)
  })

t.test('the error about a wrong state, event or list of a webhook names the legal values', async t => {
  const { app, token } = await build(t)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const getErrors = async (payload: object) => {
    const url = `/api/public/merchant/webhook/${crypto.randomUUID()}`
    return (await app.inject({ method: 'PATCH', url, headers, payload })).json().errors
  }
  t.strictSame(await getErrors({ state: 'off' }), { state: ['The state field must be one of enabled, disabled.'] })
  t.match(await getErrors({ events: ['order.lost'] }), { 'events.0': [/must be one of order\.created, /] })
  t.strictSame(await getErrors({ events: ['order.created', 'order.created'] }), {
    events: ['The events field must not have the same item twice.'],
  })
  t.strictSame(await getErrors({}), { '': ['The data must have at least 1 of url, events, state.'] })
})
