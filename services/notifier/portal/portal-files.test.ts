import t from 'tap'
import { build } from '../test/portal.ts'
import { readPortalFiles } from './routes.ts'

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
  t.same((await get('/portal/settings.json')).json(), { orders_url: 'https://orders.example/below' })
  for (const path of readPortalFiles().keys()) {
    const { statusCode, headers } = await get(`/portal/${path}`)
    t.equal(statusCode, 200, path)
    t.equal(headers['content-security-policy'], policy)
  }
  for (const path of ['tsconfig.json', 'preact.d.ts', '../app.ts', '%2e%2e/app.ts', 'languages', 'none.js'])
    t.equal((await get(`/portal/${path}`)).statusCode, 404, path)
})

t.test('the console weighs less than 240 kB', async t => {
  const bytes = [...readPortalFiles().values()].reduce((sum, file) => sum + file.bytes.length, 0)
  t.ok(bytes < 240_000, `${bytes} bytes`)
})

t.test('every language has the same texts, with the same values to fill in', async t => {
  const read = async (name: string): Promise<Record<string, string>> =>
    (await import(`../../../portal/languages/${name}.js`)).default
  const [en, si, ta] = [await read('en'), await read('si'), await read('ta')]
  const valuesOf = (texts: Record<string, string>) =>
    Object.entries(texts).map(([key, text]) => `${key} ${(text.match(/\{\w+\}/g) ?? []).sort()}`)
  for (const texts of [si, ta]) t.strictSame(valuesOf(texts).sort(), valuesOf(en).sort())
  for (const texts of [en, si, ta]) for (const text of Object.values(texts)) t.not(text.trim(), '')
})
