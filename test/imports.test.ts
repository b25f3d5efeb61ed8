// Imports the documents with the programs of Postman and Bruno, which this test installs once.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { readDocuments } from '../dev/openapi.ts'
import { root } from '../dev/settings.ts'
import type { OpenApi } from '../shared/api-docs/openapi.ts'

const packages = { 'openapi-to-postmanv2': '6.3.3', '@usebruno/cli': '4.1.0' }
const folder = join(root, 'node_modules/.cache', `importers-${Object.values(packages).join('-')}`)
const run = (command: string, ...words: string[]) => spawnSync(command, words, { cwd: folder, encoding: 'utf8' })

/** Installs both programs apart from the project's packages: they bring 590 others. Returns why it could not. */
const install = (): string | false => {
  const done = join(folder, 'installed')
  if (existsSync(done)) return false
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: packages }))
  const npm = process.env.npm_execpath ? [process.env.npm_node_execpath ?? 'node', process.env.npm_execpath] : ['npm']
  const [command = '', ...words] = [
    ...npm,
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--fetch-retries=1',
  ]
  const { status, stderr } = run(command, ...words, '--prefix', folder)
  if (status !== 0) return `npm cannot install them: ${stderr.trim().split('\n')[0]}`
  writeFileSync(done, '')
  return false
}

interface Named {
  name?: string
  key?: string
  type?: string
}
interface Item {
  item?: Item[]
  items?: Item[]
  request: {
    method: string
    url: string | { path: string[]; query: Named[] }
    params?: Named[]
    headers?: Named[]
    header?: Named[]
    auth?: { mode?: string; type?: string }
    body?: { raw?: string; json?: string }
  }
}

const flatten = (items: Item[]): Item[] =>
  items.flatMap(each => {
    const inner = each.item ?? each.items
    return inner ? flatten(inner) : [each]
  })

/** Reads one request of either program. */
const readItem = ({ request }: Item) => {
  const { method, url, params = [], headers, header = [], auth, body } = request
  const path = typeof url === 'string' ? url.replace('{{baseUrl}}', '') : `/${url.path.join('/')}`
  const query = typeof url === 'string' ? params.filter(({ type }) => type === 'query') : url.query
  const readNames = (fields: Named[]) => [...new Set(fields.map(({ name, key }) => name ?? key ?? ''))].sort()
  const line = `${method} ${path}`
  const usesTenant = readNames(headers ?? header).includes('X-tenant')
  const usesToken = (auth?.mode ?? auth?.type) === 'bearer'
  return { line, query: readNames(query), usesTenant, usesToken, body: JSON.parse(body?.json || body?.raw || 'null') }
}

/** Reads the same of each operation of the document, with every body that it shows. */
const readOperations = ({ paths }: OpenApi) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], security = [], requestBody }]) => {
      const { example, examples = {} } = requestBody?.content['application/json'] ?? {}
      return {
        line: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
        query: parameters.flatMap(({ name, in: where }) => (where === 'query' ? name : [])).sort(),
        usesTenant: parameters.some(({ name }) => name === 'X-tenant'),
        usesToken: security.length > 0,
        bodies: [example ?? null, ...Object.values(examples).map(({ value }) => value)],
      }
    }),
  )

const importers: Record<string, (source: string, target: string) => { status: number | null; stdout: string }> = {
  Postman: (source, target) => {
    const options = 'parametersResolution=Example,enableOptionalParameters=false'
    const program = join(folder, 'node_modules/openapi-to-postmanv2/bin/openapi2postmanv2.js')
    return run(process.execPath, program, '-s', source, '-o', target, '-O', options)
  },
  Bruno: (source, target) => {
    const program = join(folder, 'node_modules/@usebruno/cli/bin/bru.js')
    return run(process.execPath, program, 'import', 'openapi', '-s', source, '-f', target, '-n', 'courier')
  },
}

const skip = install()
const documents = await readDocuments()
for (const [program, importDocument] of Object.entries(importers))
  for (const [name, document] of Object.entries(documents))
    t.test(`${program} imports every request of ${name}, with its query, tenant and token`, { skip }, async t => {
      const place = t.testdir({ 'openapi.json': JSON.stringify(document) })
      const target = join(place, 'collection.json')
      const { status, stdout } = importDocument(join(place, 'openapi.json'), target)
      t.equal(status, 0, stdout)
      const { item, items } = JSON.parse(readFileSync(target, 'utf8'))
      const imported = new Map(
        flatten(item ?? items)
          .map(readItem)
          .map(each => [each.line, each]),
      )
      const operations = readOperations(document)
      t.equal(imported.size, operations.length)
      for (const { bodies, ...expected } of operations) {
        const { body, ...found } = imported.get(expected.line) ?? { body: undefined }
        t.strictSame(found, expected, expected.line)
        t.ok(
          bodies.some(each => isDeepStrictEqual(each, body)),
          `${expected.line} shows a documented body`,
        )
      }
      for (const field of ['usesTenant', 'usesToken'] as const)
        t.strictSame(new Set(operations.map(each => each[field])), new Set([true, false]), field)
      t.ok(operations.some(({ query }) => query.length > 0))
    })
