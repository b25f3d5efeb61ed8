import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  blockEnd,
  blockStart,
  findSeamBreaks,
  findUpwardImports,
  layers,
  readCapabilities,
  readImports,
  writeFolders,
} from './layers.ts'
import { root } from './settings.ts'

const explained = (from: string, to: string): string =>
  `node_modules/typescript/lib/lib.d.ts\n   Default library\n${to}\n   Imported via './x.ts' from file '${from}'\n   Matched by include pattern\n`

const find = (from: string, to: string) => findUpwardImports(readImports(explained(from, to)))

t.test('a folder may import from the folders below it', async t => {
  t.strictSame(find('services/orders/core/booking/book.ts', 'services/orders/core/catalogue/catalogue.ts'), [])
  t.strictSame(find('services/orders/app.ts', 'services/orders/core/booking/book.ts'), [])
  t.strictSame(find('services/orders/core/booking/book.ts', 'shared/errors/errors.ts'), [])
})

t.test('names an import from a higher folder or another package', async t => {
  t.match(find('services/orders/core/catalogue/queries.ts', 'services/orders/core/booking/book.ts'), [/higher folder/])
  t.match(find('services/orders/core/access/login.ts', 'services/orders/app.ts'), [/higher folder/])
  t.match(find('services/orders/app.ts', 'services/notifier/app.ts'), [/another package/])
  t.match(find('shared/errors/errors.ts', 'services/orders/config.ts'), [/another package/])
  t.match(find('services/orders/app.ts', 'services/orders/fresh/new.ts'), [/does not name/])
})

t.test('tests may import anything', async t => {
  t.strictSame(find('services/orders/core/booking/bulk.test.ts', 'services/notifier/app.ts'), [])
  t.strictSame(find('shared/postgres/database.test.ts', 'services/orders/config.ts'), [])
})

const findBreaks = (from: string, to: string) =>
  findSeamBreaks(readImports(explained(`services/orders/${from}`, `services/orders/${to}`)), {
    'services/orders': { money: {}, labels: { needs: ['money'] }, feed: {} },
  })
const ledger = 'capabilities/money/ledger/ledger.ts'

t.test('a capability is imported by the list, by itself and by those that need it', async t => {
  for (const from of ['capabilities.ts', 'capabilities/money/routes.ts', 'capabilities/labels/routes.ts'])
    t.strictSame(findBreaks(from, ledger), [], from)
  t.strictSame(findBreaks('capabilities/money/routes.ts', 'core/moves/move.ts'), [])
  t.strictSame(find('services/orders/capabilities/money/capability.ts', 'services/orders/capability.ts'), [])
  t.strictSame(findBreaks('capabilities/feed/feed.test.ts', ledger), [], 'a test of how two meet')
})

t.test(
  'names an import of a capability by the core, by a test of the core, and by one that does not need it',
  async t => {
    for (const from of ['core/moves/move.ts', 'core/moves/moves.test.ts', 'app.ts', 'capability.ts'])
      t.match(findBreaks(from, ledger), [/which may be left out/], from)
    t.match(findBreaks('capabilities/feed/routes.ts', ledger), [/feed does not need money/])
    t.match(findBreaks('capabilities/money/ledger/ledger.ts', 'capabilities/labels/pdf.ts'), [
      /money does not need labels/,
    ])
    t.match(find('services/orders/core/moves/move.ts', 'services/orders/capability.ts'), [/higher folder/])
    t.match(find('services/orders/capabilities/money/ledger/ledger.ts', 'services/orders/config.ts'), [/higher folder/])
  },
)

t.test('every capability of a list has a folder, and every folder a row', async t => {
  for (const [service, list] of Object.entries(await readCapabilities()))
    t.strictSame(Object.keys(list).toSorted(), listFolders(`${service}/capabilities`).toSorted(), service)
})

const listFolders = (path: string): string[] =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !['test', 'node_modules'].includes(entry.name))
    .map(entry => entry.name)

t.test('every folder of a package has a purpose, and every purpose a folder', async t => {
  for (const [name, folders] of Object.entries(layers)) {
    const found = listFolders(name).flatMap(folder =>
      ['core', 'capabilities'].includes(folder)
        ? listFolders(`${name}/${folder}`).map(inner => `${folder}/${inner}`)
        : [folder],
    )
    const named = folders.map(([folder]) => folder).filter(folder => folder !== '.')
    t.strictSame(named.toSorted(), found.toSorted(), name)
  }
})

t.test('architecture.md lists the folders with their purposes (node dev/layers.ts writes them)', async t => {
  const page = readFileSync(join(root, 'docs/contributors/architecture.md'), 'utf8')
  t.ok(page.includes(blockStart) && page.includes(blockEnd))
  t.equal(page, writeFolders(page))
})
