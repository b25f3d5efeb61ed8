import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { build } from '../services/notifier/test/portal.ts'
import { changeTypes } from '../services/orders/capabilities/feed/change-types.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { readFaceFiles } from '../shared/edge/portal-face.ts'

t.test('serves the console’s files under a policy that admits no foreign script', async t => {
  const { app } = await build(t, undefined, undefined, {}, { ordersPublicUrl: 'https://orders.example/below' })
  const get = (url: string, headers = {}) => app.inject({ url, headers })
  t.match(await get('/portal'), { statusCode: 302, headers: { location: 'portal/' } })
  const page = await get('/portal/')
  t.match(page, {
    statusCode: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  })
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self';")
  t.match(policy, "connect-src 'self' https://orders.example;")
  t.match(policy, "frame-ancestors 'none'; require-trusted-types-for 'script'")
  t.notMatch(policy, /unsafe|\*/)
  t.notMatch(page.payload, /<script(?![^>]* src=)|<style| style=| on\w+=/)
  const { etag } = page.headers
  t.match(await get('/portal/', { 'if-none-match': etag }), { statusCode: 304, payload: '' })
  const packed = await get('/portal/', { 'accept-encoding': 'gzip, br' })
  t.match(packed.headers, { 'content-encoding': 'gzip', vary: /accept-encoding/, etag })
  t.equal(gunzipSync(packed.rawPayload).toString(), page.payload)
  const settings = (await get('/portal/settings.json')).json()
  t.equal(settings.orders_url, 'https://orders.example/below')
  t.ok(['listMessages', 'listAllOrders'].every(operation => settings.operations.includes(operation)))
  for (const path of readFaceFiles('console').keys()) {
    const { statusCode, headers } = await get(`/portal/${path}`)
    t.equal(statusCode, 200, path)
    t.equal(headers['content-security-policy'], policy)
  }
  for (const path of [
    'tsconfig.json',
    'kit/preact.d.ts',
    'desk/app.js',
    '../app.ts',
    '%2e%2e/app.ts',
    'kit/texts.json',
    'texts',
    'none.js',
  ])
    t.equal((await get(`/portal/${path}`)).statusCode, 404, path)
})

t.test('the packed files of each face stay below their limit', async t => {
  for (const [face, most] of [
    ['console', 125_000],
    ['desk', 136_000],
  ] as const) {
    const bytes = [...readFaceFiles(face).values()].reduce((sum, file) => sum + file.getPacked().length, 0)
    t.ok(bytes < most, `${face}: ${bytes} bytes packed, in three languages`)
  }
  const first = [...readFaceFiles('rider')].filter(([path]) => !path.startsWith('scanner/'))
  const bytes = first.reduce((sum, [, file]) => sum + file.getPacked().length, 0)
  t.ok(bytes < 150_000, `rider: ${bytes} bytes packed without the scanner, in three languages`)
})

t.test('the rider’s page has a policy of its own, and the other faces keep theirs', async t => {
  const { app } = await buildOrders(t)
  const read = async (path: string) => (await app.inject({ url: path })).headers
  const policy = String((await read('/rider/'))['content-security-policy'])
  t.match(policy, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self';")
  t.match(policy, "manifest-src 'self'; connect-src 'self'; base-uri 'none'")
  t.match(policy, "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types worker")
  t.notMatch(policy, /'unsafe|\*/)
  t.match(await read('/rider/'), { 'permissions-policy': 'camera=(self), geolocation=(), microphone=()' })
  const ofDesk = await read('/desk/')
  t.notMatch(String(ofDesk['content-security-policy']), /wasm|manifest/)
  t.match(String(ofDesk['content-security-policy']), "trusted-types 'none'")
  t.notOk(ofDesk['permissions-policy'])
  for (const [path, type] of Object.entries({
    'worker.js': 'text/javascript; charset=utf-8',
    'rider/rider.webmanifest': 'application/manifest+json',
    'rider/icon-192.png': 'image/png',
    'scanner/ponyfill.js': 'text/javascript; charset=utf-8',
    'scanner/zxing_reader.wasm': 'application/wasm',
  }))
    t.match(await read(`/rider/${path}`), { 'content-type': type }, path)
  for (const path of ['/rider/rider/worker.js', '/rider/console/app.js', '/desk/worker.js'])
    t.equal((await app.inject({ url: path })).statusCode, 404, path)
})

t.test('the manifest names icons that are there, and the service worker every file of the page', async t => {
  const files = readFaceFiles('rider')
  const manifest = JSON.parse(String(files.get('rider/rider.webmanifest')?.bytes))
  for (const { src } of manifest.icons) t.ok(files.has(new URL(src, 'https://x/rider/').pathname.slice(1)), src)
  t.match(manifest.icons.map((icon: { sizes: string }) => icon.sizes).join(), '192x192,512x512')
  const worker = String(files.get('worker.js')?.bytes)
  const readList = (name: string) => JSON.parse(new RegExp(`^self\\.${name} = (.*)$`, 'm').exec(worker)?.[1] ?? '{}')
  const [shell, later] = [readList('shell'), readList('later')]
  const listed = [...Object.keys(shell), ...Object.keys(later)].map(path => path || 'rider/index.html')
  t.strictSame(listed.sort(), [...files.keys()].filter(path => path !== 'worker.js').sort())
  t.ok(Object.keys(later).every(path => path.startsWith('scanner/')))
  t.equal(files.get('rider/app.js')?.etag, `W/"${shell['rider/app.js']}"`)
})

t.test('every text is in every language, with the same values to fill in', t => {
  const listValues = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()
  for (const folder of ['kit', 'console', 'desk', 'rider']) {
    const texts: Record<string, string[]> = JSON.parse(readFileSync(join(root, `portal/${folder}/texts.json`), 'utf8'))
    for (const [key, row] of Object.entries(texts)) {
      t.equal(row.filter(text => text.trim() !== '').length, 3, key)
      for (const text of row) t.strictSame(listValues(text), listValues(row[0] ?? ''), key)
    }
  }
  t.end()
})

t.test('every text that a face names exists', t => {
  const read = (path: string) => readFileSync(join(root, 'portal', path), 'utf8')
  for (const face of ['console', 'desk', 'rider']) {
    const texts = { ...JSON.parse(read('kit/texts.json')), ...JSON.parse(read(`${face}/texts.json`)) }
    const code = globSync(`${face}/**/*.js`, { cwd: join(root, 'portal') }).map(read)
    for (const [, key = ''] of code.join('\n').matchAll(/\bt\('([\w.]+)'/g))
      t.ok(Object.hasOwn(texts, key), `${face}: ${key}`)
  }
  t.end()
})

t.test('a face gets the texts of one language at a time, and its own texts instead of the kit’s', async t => {
  const files = readFaceFiles('desk')
  const read = async (name: string): Promise<Record<string, string>> =>
    (await import(`data:text/javascript,${encodeURIComponent(String(files.get(`texts/${name}.js`)?.bytes))}`)).default
  const [en, si] = [await read('en'), await read('si')]
  t.match(en, { 'menu.orders': 'Orders', 'field.destination': 'City', 'status.DELIVERED': 'DELIVERED' })
  t.match(si, { 'field.destination': 'නගරය', 'status.DELIVERED': 'භාර දී ඇත' })
  t.strictSame(Object.keys(si), Object.keys(en))
})

t.test('the desk offers every type of event for webhooks', async t => {
  const code = readFileSync(join(root, 'portal/desk/screens/webhooks.js'), 'utf8')
  const [, list = ''] = /^const events = \[(.*?)\]/ms.exec(code) ?? []
  t.strictSame(
    [...list.matchAll(/'(.*?)'/g)].map(([, name]) => name),
    changeTypes,
  )
})
