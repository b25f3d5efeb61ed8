// Installs the packages when the lock file changed since the last time, with --omit=dev only those that `npm start` needs.
// Plain JavaScript for any Node: the one that the project runs on is itself a package.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findInstalled, findMissing, findNode } from './install-scripts.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.courier-installed')
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
// Under npm this program runs on the project's own Node when there is one, which `npm ci` takes away: npm's own Node stays.
const node = process.env.npm_node_execpath ?? process.execPath
const omitsDev = process.argv.includes('--omit=dev')
const stamped = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
const isComplete = stamped === `${lock} all` || (omitsDev && stamped.startsWith(lock))
const registry = process.env.npm_config_registry ?? 'https://registry.npmjs.org/'
const proxy = process.env.npm_config_https_proxy ?? process.env.HTTPS_PROXY ?? process.env.https_proxy

const say = sentence => process.stderr.write(`${sentence}\n`)

/** The packages in a `node_modules`: npm makes the folders of all before it fetches one. */
const countPackages = folder => {
  const count = name => {
    if (name.startsWith('@')) return countPackages(join(folder, name))
    return existsSync(join(folder, name, 'package.json')) ? 1 : 0
  }
  return (existsSync(folder) ? readdirSync(folder) : []).reduce((sum, name) => sum + count(name), 0)
}

/** Undefined when anything answers, even with an error, else why not. */
const findNetworkError = () =>
  fetch(proxy || registry, { method: 'HEAD', signal: AbortSignal.timeout(5_000) }).then(
    () => undefined,
    ({ name, cause }) => {
      if (name === 'TimeoutError') return 'no answer'
      return /REFUSED|NOTFOUND|EAI_AGAIN|UNREACH|TIMEDOUT|TIMEOUT/.test(cause?.code) ? cause.code : undefined
    },
  )

/**
 * Runs a program, in a group of its own, with a line every few seconds. Resolves to what went wrong. npm would try for minutes
 * without a network: the run ends when no package arrived in seven seconds and neither registry nor proxy answers.
 */
const run = (what, command, args, cwd) =>
  new Promise(resolve => {
    const child = spawn(command, args, { cwd, detached: true, stdio: ['ignore', 2, 2] })
    const kill = () => process.kill(-child.pid, 'SIGKILL')
    let arrived = countPackages(join(cwd, 'node_modules'))
    let hasProgress = false
    let seconds = 0
    const poll = async () => {
      const before = arrived
      arrived = countPackages(join(cwd, 'node_modules'))
      hasProgress ||= arrived > before
      seconds += 1
      if (seconds % 5 === 0) say(`  ${what}: ${arrived} packages, ${seconds} s`)
      if (hasProgress || seconds !== 7) return
      const reason = await findNetworkError()
      if (reason === undefined || hasProgress || child.exitCode !== null) return
      end(`${proxy || registry} cannot be reached (${reason})`)
      kill()
    }
    const timer = setInterval(poll, 1_000)
    const stop = () => {
      kill()
      process.exit(1)
    }
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop)
    const end = problem => {
      clearInterval(timer)
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop)
      resolve(problem)
    }
    child.on('error', ({ message }) => end(message))
    child.on('exit', status => end(status === 0 ? undefined : 'see above'))
  })

if (!isComplete) {
  say('Installing the packages (once; about a minute) ...')
  const npm = process.env.npm_execpath ? [node, process.env.npm_execpath] : ['npm']
  // `npm ci` would take away the packages that a running `npm start` works with: the others are added to them.
  const isAdding = stamped === `${lock} without dev`
  if (isAdding) writeFileSync(stamp, `${lock} adding`)
  const way = isAdding ? ['install', '--no-save'] : ['ci']
  const kinds = [omitsDev ? '--omit=dev' : '--include=dev', '--include=optional']
  const options = [...way, ...kinds, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const orExit = problem => {
    if (problem === undefined) return
    say(
      `Installing failed: ${problem}.\nCheck the network, the proxy (HTTPS_PROXY) and the registry (npm_config_registry).`,
    )
    process.exit(1)
  }
  orExit(await run(`npm ${way[0]}`, npm[0], [...npm.slice(1), ...options], root))
  for (const { folder, script } of findInstalled(root))
    orExit(await run(`setting up ${basename(folder)}`, node, [script], folder))
  // Those of one system are optional to npm, which goes on without what it could not fetch.
  const missing = findMissing(root)
  orExit(missing && `${missing} did not arrive`)
  // Both packages of Node have a program of that name: npm links only the one that is there when it installs.
  const link = join(root, 'node_modules', '.bin', 'node')
  rmSync(link, { force: true })
  symlinkSync(join('..', findNode(root), 'bin', 'node'), link)
  writeFileSync(stamp, `${lock} ${omitsDev ? 'without dev' : 'all'}`)
}
