import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { generatedFiles, readDocuments } from '../dev/openapi.ts'
import { root } from '../dev/settings.ts'
import { build } from '../services/orders/test/build.ts'
import type { Schema } from '../shared/api-docs/examples.ts'
import { listOperations, type Media, type OpenApi, type Operation } from '../shared/api-docs/openapi.ts'
import { createSimulator } from '../simulator/app.ts'

const documents = Object.entries(await readDocuments())

/** Calls `visit` with every object in a value. */
const walk = (value: unknown, visit: (fields: Record<string, unknown>, path: string) => void, path = ''): void => {
  if (typeof value !== 'object' || value === null) return
  visit(value as Record<string, unknown>, path)
  for (const [name, field] of Object.entries(value)) walk(field, visit, `${path}/${name}`)
}

const mapParameters = (operation: Operation) =>
  Object.fromEntries((operation.parameters ?? []).map(parameter => [parameter.name, parameter]))

for (const [name, document] of documents) {
  const operations = listOperations(document)
  const errors = Object.values(document.components.responses ?? {})

  t.test(`${name}: every operation has an id of its own, a summary and a tag that the document lists`, async t => {
    const ids = operations.map(({ operationId }) => operationId)
    t.ok(
      ids.every(id => /^[a-z][A-Za-z]+$/.test(String(id)) && !String(id).startsWith('undefined')),
      ids.join(' '),
    )
    t.equal(new Set(ids).size, ids.length, `duplicate: ${ids.filter((id, index) => ids.indexOf(id) !== index)}`)
    t.ok(operations.every(({ summary }) => summary))
    const tags = document.tags.map(tag => tag.name)
    t.strictSame(new Set(operations.flatMap(({ tags = [] }) => tags)), new Set(tags))
  })

  t.test(`${name}: every operation says which token and tenant it needs`, async t => {
    const schemes = Object.keys(document.components.securitySchemes)
    for (const operation of operations) {
      const { operationId = '', security = [{ missing: [] }] } = operation
      t.ok(
        security.every(scheme => Object.keys(scheme).every(one => schemes.includes(one))),
        operationId,
      )
      const needsTenant = security.some(scheme => 'token' in scheme)
      if (needsTenant || ['logIn', 'logInStaff'].includes(operationId))
        t.match(mapParameters(operation)['X-tenant'], { in: 'header', required: true }, operationId)
    }
    t.ok(operations.some(({ security }) => security?.length === 0))
    t.ok(operations.some(({ security }) => security?.some(scheme => 'token' in scheme)))
  })

  t.test(`${name}: the document has no keyword of our own, no dangling reference and no unused component`, async t => {
    const { schemas: named, responses } = document.components
    const schemas = Object.keys({ ...named, ...responses })
    const used = new Set<string>()
    walk(document, (fields, path) => {
      if (path.endsWith('/properties')) return
      const own = Object.keys(fields).filter(key =>
        ['must', 'sentence', 'documented', 'patternProperties'].includes(key),
      )
      if (own.length > 0) t.fail(`${path} has ${own}`)
      if (typeof fields.$ref === 'string') used.add(fields.$ref.replace(/^#.components.\w+./, ''))
    })
    t.strictSame([...used].sort(), schemas.sort())
    t.ok(schemas.includes('Error'))
    t.match(document, { servers: [{ url: '/' }] })
  })

  t.test(`${name}: numbers in queries are documented as numbers`, async t => {
    for (const operation of operations)
      for (const { name, schema } of operation.parameters ?? [])
        if (['page', 'per_page', 'limit'].includes(name)) {
          t.match(schema, { type: 'integer', minimum: 1 }, `${operation.operationId} ${name}`)
          t.notMatch(schema, { pattern: /./ })
        }
  })

  t.test(`${name}: every body and every success has an example, and all examples match their schemas`, async t => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false, code: { optimize: false } })
    ajv.addSchema(document, name)
    for (const operation of operations) {
      const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
      const parts = [operation.requestBody, ...successes.map(([, response]) => response)]
      for (const media of parts.flatMap(part => Object.values(part?.content ?? {})))
        t.ok(listExamples(media).length > 0, `${operation.operationId} has an example`)
      for (const { content } of [operation.requestBody, ...Object.values(operation.responses), ...errors].filter(
        part => !!part,
      ))
        for (const media of Object.values(content ?? {})) {
          const schema = JSON.stringify(media.schema ?? {}).replaceAll('"#/', `"${name}#/`)
          const isValid = ajv.compile(JSON.parse(schema))
          for (const example of listExamples(media))
            t.ok(isValid(example), `${operation.operationId}: ${ajv.errorsText(isValid.errors)}`)
        }
    }
  })
}

const listExamples = ({ example, examples = {} }: Media): unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value }) => value),
]

const simulator = await createSimulator()
const served = await simulator.app.inject('/openapi.json')
await simulator.app.close()

t.test("serves the simulator's document, whose references all resolve", async t => {
  t.equal(served.statusCode, 200, served.body)
  t.ok(served.headers['x-request-id'])
  const { components } = served.json() as OpenApi
  walk(served.json(), ({ $ref }) => {
    if (typeof $ref !== 'string') return
    const [, , kind = '', name = ''] = $ref.split('/')
    t.ok(name in (components[kind as 'schemas'] ?? {}), $ref)
  })
})

t.test('an overlong segment of any path gets a response that is documented', async t => {
  const { app } = await build(t)
  const simulator = await createSimulator()
  t.teardown(() => simulator.app.close())
  for (const [server, document] of [
    [app, documents[0]?.[1]],
    [simulator.app, served.json() as OpenApi],
  ] as const)
    for (const [path, operations] of Object.entries(document?.paths ?? {}))
      for (const [method, { responses }] of Object.entries(operations)) {
        if (!path.includes('{')) continue
        const url = path.replaceAll(/\{\w+\}/g, 'x'.repeat(256))
        const response = await server.inject({ method: method.toUpperCase() as 'GET', url })
        t.ok(response.statusCode in responses, `${method} ${path} ${response.statusCode}`)
        t.match(response.json(), { message: /./, code: 'malformed_request' })
      }
})

for (const [name, document] of documents)
  t.test(`${name}: every time has the format date-time`, async t => {
    const isTime = (value: unknown) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
    const named = new Set(['at'])
    walk(document, (fields, path) => {
      for (const [field, value] of Object.entries(fields))
        if (/example/.test(path) && isTime(value) && !['from', 'to'].includes(field)) named.add(field)
    })
    const seen = new Set<string>()
    walk(document, (fields, path) => {
      if (!path.endsWith('/properties')) return
      for (const [field, schema] of Object.entries(fields as Record<string, Schema>)) {
        const texts = [schema, ...(schema.anyOf ?? [])].filter(({ type, enum: values }) => type === 'string' && !values)
        if (!named.has(field) && !/(_at|since|_until)$/.test(field)) continue
        for (const { format } of texts) t.equal(format, 'date-time', `${path}/${field}`)
        seen.add(field)
      }
    })
    t.ok(seen.has('at'))
    const period = Object.values(document.components.schemas?.ReplayPeriod?.properties ?? {})
    for (const { format } of period) t.equal(format, 'date-time')
  })

t.test('a created batch and a dry run have different responses', async t => {
  const { paths } = (documents[0] as [string, OpenApi])[1]
  const content = paths['/api/public/merchant/order/bulk']?.post?.responses['200']?.content?.['application/json']
  t.strictSame(
    content?.schema?.anyOf?.map(({ $ref }) => $ref),
    ['#/components/schemas/Created', '#/components/schemas/Quoted'],
  )
  t.strictSame(Object.keys(content?.examples ?? {}), ['Created', 'Quoted'])
})

t.test('in production no page and no document shows the login of the demo', async t => {
  for (const hidesDemo of [false, true]) {
    const { app } = await build(t, { hidesDemo })
    const paths = ['/docs/merchants', '/docs/merchants/json', '/docs/staff/json', '/openapi.json']
    const texts = await Promise.all(paths.map(async path => (await app.inject(path)).body))
    const shown = texts.join('').match(/lanka-shoes-demo|courier-demo/g) ?? []
    t.equal(shown.length, hidesDemo ? 0 : 2, `hides it: ${hidesDemo}`)
    t.equal(/X-tenant: COMPANY/.test(texts.join('')), hidesDemo)
  }
})

t.test('orders documents the events that it sends', async t => {
  const { webhooks } = (documents[0] as [string, OpenApi])[1]
  t.match(webhooks?.orderEvents?.post, {
    requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/CourierEvents' } } } },
  })
})

t.test('all generated files are current', async t => {
  for (const [path, text] of Object.entries(generatedFiles()))
    t.ok(readFileSync(join(root, path), 'utf8') === text, `${path}: run dev/openapi.ts`)
})
