import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { build } from '../services/orders/test/build.ts'

const file = JSON.parse(readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8'))
const { app, rows } = await build(t, { file })
const url = await app.listen({ host: '127.0.0.1', port: 0 })

// Stands for the folder of an `npm start`, in which the programs find the address.
const folder = t.testdir({ 'start.pid': `1\n  orders      ${url}\n  notifier    http://127.0.0.1:1` })

const run = (command: string, args: string[]): Promise<{ status: number; output: string; errors: string }> =>
  new Promise(resolve => {
    const options = { cwd: root, env: { ...process.env, DATA_DIR: folder } }
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

const mask = 'does not match the requested format. Waybills look like DM########, where # is a digit.'
const mistakes = [
  'The given data was invalid.',
  'order_data.1.destination_city_name: The selected destination city name Galee is invalid. Did you mean Galle?',
  'order_data.2.destination_state_name: The selected destination state name Kandi is invalid. Did you mean Kandy?',
  'order_data.3.destination_city_id: The selected destination city id 99999 is invalid.',
  'order_data.7.destination_city_name: The selected destination city name Negombo is invalid. Did you mean Negombo in Gampaha?',
  'order_data.8.destination_city_name: The selected destination city name Kurunegla is invalid. Did you mean Kurunegala?',
  'order_data.9.destination_state_name: The selected destination state name Jafna is invalid. Did you mean Jaffna?',
  'order_data.10.destination_city_id: The selected destination city id 123456 is invalid.',
  'order_data.11.destination_city_name: The selected destination city name Matara is invalid. Did you mean Matara in Matara?',
  `errors: The waybill XX-1 ${mask} It is in order_data.4.`,
  `errors: The waybill DM12345 ${mask} It is in order_data.8.`,
  `errors: The waybill DM9000000X ${mask} It is in order_data.10.`,
  'order_data.6.waybill_number: The waybill number field DM90000001 has a duplicate value.',
  '',
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
    t.strictSame(wrong.errors.split('\n'), mistakes)
    t.equal(wrong.status, 1)
    t.equal(await count(), before + 25)
  })
}
