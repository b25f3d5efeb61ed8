// Installs the packages when the lock file changed since the last time, with --omit=dev only those that `npm start`
// needs. Plain JavaScript for any Node: the one that the project runs on is itself a package.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findInstalled, findMissing, findNode } from './install-scripts.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.courier-installed')
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
// Under npm this program runs on the project's own Node when there is one, which `npm ci` takes away: npm's own Node
// stays.
const node = process.env.npm_node_execpath ?? process.execPath
const omitsDev = process.argv.includes('--omit=dev')
const stamped = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
const isComplete = stamped === `${lock} all` || (omitsDev && stamped.startsWith(lock))

const say = sentence => process.stderr.write(`${sentence}\n`)

const fail = problem => {
  say(
    `Installing failed: ${problem}.\nCheck the network, the proxy (HTTPS_PROXY) and the registry (npm_config_registry).`,
  )
  process.exit(1)
}

/** Runs a program to its end, with a line every five seconds. Ends this process if the program fails. */
const run = async (what, command, args, cwd) => {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2] })
  const started = Date.now()
  const progress = setInterval(() => say(`  ${what}: ${Math.round((Date.now() - started) / 1000)} s`), 5_000)
  const [status] = await once(child, 'exit').catch(({ message }) => [message])
  clearInterval(progress)
  if (status !== 0) fail(`${what} ended with ${status}`)
}

if (!isComplete) {
  say('Installing the packages (once; about a minute) ...')
  const npm = process.env.npm_execpath ? [node, process.env.npm_execpath] : ['npm']
  // `npm ci` would remove the packages that a running `npm start` uses, so this adds the others to them.
  const isAdding = stamped === `${lock} without dev`
  if (isAdding) writeFileSync(stamp, `${lock} adding`)
  const way = isAdding ? ['install', '--no-save'] : ['ci']
  const kinds = [omitsDev ? '--omit=dev' : '--include=dev', '--include=optional']
  // npm alone would retry for five minutes without a registry.
  const network = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000']
  const options = [...way, ...kinds, ...network, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await run(`npm ${way[0]}`, npm[0], [...npm.slice(1), ...options], root)
  for (const { folder, script } of findInstalled(root))
    await run(`setting up ${basename(folder)}`, node, [script], folder)
  // npm treats packages of one system as optional, and continues without those it could not fetch.
  const missing = findMissing(root)
  if (missing) fail(`${missing} did not arrive`)
  // Both packages of Node have a program of that name: npm links only the one that is there when it installs.
  const link = join(root, 'node_modules', '.bin', 'node')
  rmSync(link, { force: true })
  symlinkSync(join('..', findNode(root), 'bin', 'node'), link)
  writeFileSync(stamp, `${lock} ${omitsDev ? 'without dev' : 'all'}`)
}
