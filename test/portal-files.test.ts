import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { build } from '../services/notifier/test/portal.ts'
import { changeTypes } from '../services/orders/core/database/tables.ts'
import { readFaceFiles } from '../shared/edge/face.ts'

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
  t.same((await get('/portal/settings.json')).json(), { orders_url: 'https://orders.example/below' })
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
    'languages',
    'none.js',
  ])
    t.equal((await get(`/portal/${path}`)).statusCode, 404, path)
})

t.test('the packed files of each face stay below their limit', async t => {
  for (const [face, most] of [
    ['console', 104_000],
    ['desk', 106_000],
  ] as const) {
    const bytes = [...readFaceFiles(face).values()].reduce((sum, file) => sum + file.packed.length, 0)
    t.ok(bytes < most, `${face}: ${bytes} bytes packed, in three languages`)
  }
})

t.test('every language has the same texts, with the same values to fill in', async t => {
  for (const folder of ['kit', 'console', 'desk']) {
    const read = async (name: string): Promise<Record<string, string>> =>
      (await import(`../portal/${folder}/languages/${name}.js`)).default
    const [en, si, ta] = [await read('en'), await read('si'), await read('ta')]
    const listValues = (texts: Record<string, string>) =>
      Object.entries(texts).map(([key, text]) => `${key} ${(text.match(/\{\w+\}/g) ?? []).sort()}`)
    for (const texts of [si, ta]) t.strictSame(listValues(texts).sort(), listValues(en).sort())
    for (const texts of [en, si, ta]) for (const text of Object.values(texts)) t.not(text.trim(), '')
  }
})

t.test('the desk offers every type of event for webhooks', async t => {
  const code = readFileSync(join(root, 'portal/desk/screens/webhooks.js'), 'utf8')
  const [, list = ''] = /^const events = \[(.*?)\]/ms.exec(code) ?? []
  t.strictSame(
    [...list.matchAll(/'(.*?)'/g)].map(([, name]) => name),
    changeTypes,
  )
})
