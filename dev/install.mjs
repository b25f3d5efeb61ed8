// Installs the packages when the lock file changed since the last time. Plain JavaScript for any Node:
// the one that the project runs on is itself a package.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findInstalled } from './install-scripts.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.courier-installed')
const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
// Under npm this program runs on the project's own Node when there is one, which `npm ci` takes away: npm's own Node stays.
const node = process.env.npm_node_execpath ?? process.execPath
const installed = existsSync(stamp) && readFileSync(stamp, 'utf8') === lock

if (!installed) {
  process.stderr.write('Installing the packages (once; about a minute) ...\n')
  const npm = process.env.npm_execpath ? [node, process.env.npm_execpath] : ['npm']
  const options = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync(npm[0], [...npm.slice(1), ...options], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    process.stderr.write('npm ci failed: see above. Is the npm registry reachable?\n')
    process.exit(status || 1)
  }
  for (const { folder, script } of findInstalled(root)) {
    const { status, error } = spawnSync(node, [script], { cwd: folder, stdio: ['ignore', 2, 2] })
    if (status !== 0) {
      const reason = error?.message ?? 'see above. Is the npm registry reachable?'
      process.stderr.write(`${script} in ${folder} failed: ${reason}\n`)
      process.exit(status || 1)
    }
  }
  // npm links only the programs that are there when it installs: this one came after.
  const link = join(root, 'node_modules', '.bin', 'node')
  rmSync(link, { force: true })
  symlinkSync(join('..', 'node', 'bin', 'node'), link)
  writeFileSync(stamp, lock)
}
