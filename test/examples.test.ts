import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { build } from '../services/orders/test/build.ts'

const file = JSON.parse(readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8'))
const { app, rows } = await build(t, { file })
const url = await app.listen({ host: '127.0.0.1', port: 0 })

const run = (command: string, args: string[]): Promise<{ status: number; output: string; errors: string }> =>
  new Promise(resolve => {
    const options = { cwd: root, env: { ...process.env, COURIER_URL: url } }
    const child = execFile(command, args, options, (_error, output, errors) =>
      resolve({ status: child.exitCode ?? -1, output, errors }),
    )
  })

t.test('npm start installs what the TypeScript examples import', async t => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const texts = ['book', 'webhook-receiver'].map(name =>
    readFileSync(join(root, `examples/typescript/${name}.ts`), 'utf8'),
  )
  const names = [...texts.join('\n').matchAll(/ from '([^.'][^:']*)'/g)].map(([, name = '']) => name)
  t.ok(names.includes('openapi-fetch'))
  for (const name of names) t.match(packages[`node_modules/${name}`], { version: /./, dev: undefined }, name)
})

const programs: [name: string, command: string, program: string][] = [
  ['curl', 'sh', 'curl/book.sh'],
  ['php', 'php', 'php/book.php'],
  ['python3', 'python3', 'python/book.py'],
  ['node', process.execPath, 'typescript/book.ts'],
]

for (const [name, command, path] of programs) {
  const isHere = spawnSync(name, ['--version']).status === 0
  t.test(`${path} books, repeats safely and shows errors`, { skip: isHere ? false : `no ${name} here` }, async t => {
    const program = join('examples', path)
    const count = async () => (await rows('select count(*)::int as orders from orders'))[0]?.orders as number
    const before = await count()
    const first = await run(command, [program, 'examples/batch.json'])
    t.match(
      first.output,
      /The parcels start in .*\nFirst waybill: DM\d{8}\nIts status: (CONFIRMED|DRAFT)\n/,
      first.errors,
    )
    t.strictSame([first.status, first.errors], [0, ''])
    t.equal(await count(), before + 25)
    t.equal((await run(command, [program, 'examples/batch.json'])).output, first.output, 'repeated')
    t.equal(await count(), before + 25)
    const wrong = await run(command, [program, 'examples/batch-with-mistakes.json'])
    t.match(wrong.errors, /order_data\.\d+\.destination_city_name\W+The selected destination city name is invalid/)
    t.equal(wrong.status, 1)
    t.equal(await count(), before + 25)
  })
}
