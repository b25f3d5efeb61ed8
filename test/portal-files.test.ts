import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { build } from '../services/notifier/test/portal.ts'
import { changeTypes } from '../services/orders/capabilities/feed/change-types.ts'
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
    ['console', 114_000],
    ['desk', 130_000],
  ] as const) {
    const bytes = [...readFaceFiles(face).values()].reduce((sum, file) => sum + file.getPacked().length, 0)
    t.ok(bytes < most, `${face}: ${bytes} bytes packed, in three languages`)
  }
})

t.test('every text is in every language, with the same values to fill in', t => {
  const listValues = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()
  for (const folder of ['kit', 'console', 'desk']) {
    const texts: Record<string, string[]> = JSON.parse(readFileSync(join(root, `portal/${folder}/texts.json`), 'utf8'))
    for (const [key, row] of Object.entries(texts)) {
      t.equal(row.filter(text => text.trim() !== '').length, 3, key)
      for (const text of row) t.strictSame(listValues(text), listValues(row[0] ?? ''), key)
    }
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
