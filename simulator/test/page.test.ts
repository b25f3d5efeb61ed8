import { createHash } from 'node:crypto'
import t from 'tap'
import { build } from './build.ts'

t.test('the page runs its own script and nothing else', async t => {
  const { call } = await build(t)
  const { status, headers, body } = await call('/')
  t.equal(status, 200)
  t.match(headers.get('content-type'), 'text/html')
  const policy = headers.get('content-security-policy') ?? ''
  t.match(policy, "default-src 'none'")
  for (const tag of ['style', 'script']) {
    const [, content = ''] = body.match(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`)) ?? []
    t.match(policy, `${tag}-src 'sha256-${createHash('sha256').update(content).digest('base64')}'`)
  }
  t.notMatch(body, /innerHTML|insertAdjacentHTML|document\.write|(src|href)=/)
})
