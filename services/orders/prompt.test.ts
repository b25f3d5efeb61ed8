import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { cloneDatabase, makeFolder } from '../../dev/test-database.ts'
import { isPassword } from './core/access/passwords.ts'
import type { Tx } from './core/database/tables.ts'
import { applyTenant } from './core/provisioning/apply.ts'
import { tenantFile } from './test/tenant.ts'

/** Runs a command at a terminal, types the given keys at its prompt, and prints what the terminal showed. */
const terminal = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
shown, typed = b'', False
while True:
    try: part = os.read(fd, 4096)
    except OSError: break
    if not part: break
    shown += part
    if not typed and b'merchant: ' in shown: typed = bool(os.write(fd, sys.argv[1].encode()))
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`
const hasTerminal = spawnSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']).status === 0
const skip = hasTerminal ? false : 'there is no python3 to open a terminal'

t.test('a terminal hides the typed password; Ctrl-C and Ctrl-D cancel', { skip }, async t => {
  const { url } = await cloneDatabase(t, 'orders')
  const pool = createPool({ url, name: 'test', connections: 2 })
  t.teardown(() => pool.end())
  const folder = makeFolder(t)
  await applyTenant(pool, tenantFile(), false)
  const script = join(folder, 'terminal.py')
  writeFileSync(script, terminal)
  const admin = join(import.meta.dirname, './admin.ts')
  const { NODE_COMPILE_CACHE, PATH } = process.env
  const type = (keys: string, ...words: string[]) => {
    const command = [process.execPath, admin, 'merchant', ...words, '--tenant', 'demo']
    const env = { NODE_COMPILE_CACHE, PATH, TERM: 'xterm', ORDERS_DATABASE_URL: url }
    const { status, stdout } = spawnSync('python3', [script, keys, ...command], {
      env,
      encoding: 'utf8',
      timeout: 30_000,
    })
    return { status, shown: stdout }
  }
  const stored = async (email: string) => {
    const rows = await inTenant(pool, 'demo', (tx: Tx) =>
      tx.selectFrom('merchants').select('password_hash').where('email', '=', email).execute(),
    )
    return rows[0]?.password_hash ?? ''
  }

  const about = ['--email', 'tea@example.com', '--name', 'Kandy Tea', '--business', '8:Tea']
  const added = type('kandy-tex\x7fa-demo\r', 'add', ...about)
  t.match(added, { status: 0, shown: /^password of the merchant: \r\n.*merchant tea@example\.com added/s })
  t.notMatch(added.shown, /kandy|demo/, 'the terminal shows nothing that was typed')
  t.ok(await isPassword('kandy-tea-demo', await stored('tea@example.com')))

  const changed = type('another pass,word!\r', 'password', '--email', 'tea@example.com')
  t.match(changed, { status: 0, shown: /merchant tea@example\.com password changed/ })
  t.notMatch(changed.shown, /another|word!/)
  const now = await stored('tea@example.com')
  t.ok(await isPassword('another pass,word!', now))

  for (const key of ['half-typed\x03', '\x04', '\r'])
    t.match(type(key, 'password', '--email', 'tea@example.com'), { status: 1, shown: /^((?!half| {4}at ).)*$/s }, key)
  t.equal(await stored('tea@example.com'), now)
})
