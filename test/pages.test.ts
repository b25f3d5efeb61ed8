import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { build as buildNotifier } from '../services/notifier/test/portal.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'

const apps = { orders: (await buildOrders(t)).app, notifier: (await buildNotifier(t)).app }

for (const [name, app] of Object.entries(apps)) {
  t.test(`${name}: llms.txt says what to read, and each of its addresses leads there`, async t => {
    const { headers, body } = await app.inject('/llms.txt')
    t.match([headers['content-type'], body], [/^text\/plain/, /^# Courier \w+\n\n> \w.*\n\n## Pages\n\n- \[/])
    const paths = [...body.matchAll(/^- \[([^\]]+)\]\((\/[^)]+)\)/gm)]
    t.equal(paths.filter(([, , path]) => path?.endsWith('.md')).length, name === 'orders' ? 11 : 10)
    t.ok(paths.some(([, , path]) => path === '/openapi.json'))
    for (const [, title = '', path = ''] of paths) {
      const page = await app.inject(path)
      t.equal(page.statusCode, 200, path)
      if (path.endsWith('.md')) t.ok(page.body.startsWith(`# ${title}\n`), path)
      else t.ok(page.json().openapi, path)
    }
  })

  t.test(`${name}: each page of the documentation is served as Markdown, and nothing beside it`, async t => {
    for (const path of globSync('docs/**/*.md', { cwd: root })) {
      const { headers, body } = await app.inject(`/${path}`)
      t.match([headers['content-type'], body], ['text/markdown; charset=utf-8', readFileSync(join(root, path), 'utf8')])
    }
    for (const path of ['docs/merchants/none.md', 'docs/../README.md', 'docs/%2e%2e/README.md', 'docs/..%2fREADME.md'])
      t.equal((await app.inject(`/${path}`)).statusCode, 404, path)
  })
}
