import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
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
