import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { findFreePort } from './ports.ts'
import { root } from './settings.ts'

/** Installs one small package through the registry at the port, into a folder of its own and with an empty cache. */
const install = async (t: Test, port: number) => {
  const folder = t.testdir({})
  mkdirSync(join(folder, 'dev'))
  cpSync(join(root, 'dev/install.mjs'), join(folder, 'dev/install.mjs'))
  const dependencies = { 'is-number': '7.0.0' }
  const resolved = 'https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz'
  const packages = { '': { dependencies }, 'node_modules/is-number': { version: '7.0.0', resolved } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'one', dependencies }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ name: 'one', lockfileVersion: 3, packages }))
  const { HTTPS_PROXY: _, https_proxy: __, npm_config_https_proxy: ___, ...env } = process.env
  const child = spawn(process.execPath, [join(folder, 'dev/install.mjs')], {
    env: { ...env, npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: join(folder, 'cache') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const started = performance.now()
  const output = text(child.stderr)
  const [status] = await once(child, 'exit')
  return { status, seconds: (performance.now() - started) / 1000, output: await output }
}

t.test('fails within 15 seconds without a registry, and says what to check', async t => {
  const port = await findFreePort()
  const { status, seconds, output } = await install(t, port)
  t.equal(status, 1)
  t.ok(seconds < 15, `${seconds} s`)
  t.match(output, 'ECONNREFUSED')
  t.match(output, /Installing failed: npm ci ended with 1\.\nCheck the network/)
})

/** Prepares an installed project, whose packages' Node is this one, on a machine whose own Node prints `version`. */
const prepareNode = (t: Test) => {
  const lock = '{}'
  const stamp = `${createHash('sha256').update(lock).digest('hex')} all`
  const packaged = `node-${process.platform}-${process.arch}`
  const folder = t.testdir({
    'package-lock.json': lock,
    dev: { 'install.mjs': readFileSync(join(root, 'dev/install.mjs'), 'utf8') },
    node_modules: {
      '.courier-installed': stamp,
      '.bin': { node: t.fixture('symlink', '../gone/node') },
      [packaged]: { bin: { node: t.fixture('symlink', process.execPath) } },
    },
    own: {},
  })
  const own = join(folder, 'own/node')
  const decide = (version: string, more: NodeJS.ProcessEnv = {}) => {
    writeFileSync(own, `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
    const env = { ...process.env, npm_node_execpath: own, npm_lifecycle_event: 'orders', ...more }
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'dev/install.mjs')], { env, encoding: 'utf8' })
    t.equal(status, 0, stderr)
    return { link: readlinkSync(join(folder, 'node_modules/.bin/node')), stderr }
  }
  return { own, packaged: `../${packaged}/bin/node`, decide }
}

t.test('runs on the machine’s own Node once it is recent enough, and says when it does not', async t => {
  const { own, packaged, decide } = prepareNode(t)
  for (const version of ['24.7.0', '24.21.0', '25.0.0', '26.12.1', '100.0.0'])
    t.strictSame(decide(version), { link: own, stderr: '' }, version)
  for (const version of ['20.20.2', '24.6.1', '9.0.0']) {
    const line = `Node ${version} is older than 24.7: Courier runs on the Node ${process.versions.node} of its packages.\n`
    t.strictSame(decide(version), { link: packaged, stderr: line }, version)
    t.strictSame(decide(version), { link: packaged, stderr: '' }, 'only when that changes')
    t.strictSame(
      decide(version, { npm_lifecycle_event: 'start' }),
      { link: packaged, stderr: line },
      'and at each start',
    )
    t.equal(decide('26.12.1').link, own, 'an upgrade is noticed')
  }
})
