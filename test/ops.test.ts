// Checks that the names in ops/ exist: metrics, settings, and pages of the documentation.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { Settings as NotifierSettings } from '../services/notifier/config.ts'
import { Settings as OrdersSettings } from '../services/orders/config.ts'
import { startStack } from './stack.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const alerts = read('ops/prometheus/alerts.yml')
const dashboard = read('ops/grafana/courier.json')

/** Returns the metrics of a PromQL expression: its words without functions, keywords, labels and strings. */
const listMetrics = (expression: string): string[] => {
  const plain = expression
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replace(/\b(by|on) \([^)]*\)/g, '')
  const words = [...plain.matchAll(/\b([a-z]\w*)\b(?!\s*\()/g)].map(([, word = '']) => word)
  return words.filter(word => !/^(unless|or|and|offset|up|sum|max|min|group|by|\d.*)$/.test(word))
}

/** Matches metrics of node_exporter, postgres_exporter and blackbox_exporter. */
const ofExporters = /^(node_filesystem|pg_stat_archiver|probe_ssl)_/

t.test('the services export every metric that the alerts and the dashboard use', async t => {
  const { orders, notifier } = await startStack(t)
  const pages = await Promise.all([orders, notifier].map(async ({ url }) => (await fetch(`${url}/metrics`)).text()))
  const types = [...pages.join('\n').matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  const exposed = new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map(end => name + end) : name,
    ),
  )
  const ofAlerts = [...alerts.matchAll(/^ +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/gm)].map(
    ([, block, line]) => block ?? line,
  )
  const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }
  const ofDashboard = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  t.equal(ofAlerts.length, alerts.match(/- alert:/g)?.length)
  for (const expressions of [ofAlerts, ofDashboard]) {
    const named = new Set(expressions.flatMap((expression = '') => listMetrics(expression)))
    t.ok(named.size > 8, [...named].join(' '))
    t.same(
      [...named].filter(name => !exposed.has(name) && !ofExporters.test(name)),
      [],
    )
  }
})

t.test('every package, manifest and page has the version of package.json', async t => {
  const { version, workspaces } = JSON.parse(read('package.json'))
  for (const workspace of workspaces) t.equal(JSON.parse(read(`${workspace}/package.json`)).version, version, workspace)
  t.ok(read('ops/kubernetes/kustomization.yaml').includes(`newTag: "${version}"`))
  t.ok(read('ops/README.md').includes(`/courier:${version} `))
  t.match(read('CHANGELOG.md').match(/^## .*$/m)?.[0], version)
})

t.test('each alert names its remedy on an existing page', async t => {
  const rules = alerts.split('- alert: ').slice(1)
  for (const rule of rules) {
    t.match(rule, /severity: (page|ticket) [\s\S]*summary: "[\s\S]*action: "/)
    const [, page = '', anchor] = /docs: (docs\/[\w/-]+\.md)(?:#([\w-]+))?$/m.exec(rule) ?? []
    const titles = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    if (anchor) t.ok(titles.includes(anchor), `${page}#${anchor}`)
  }
})

t.test('every setting that ops/ gives to a service exists, and only secrets come from files', async t => {
  const properties: Record<string, TSchema> = {
    ...OrdersSettings.properties,
    ...NotifierSettings.properties,
  }
  const files = globSync('ops/{compose,systemd,kubernetes}/*', { cwd: root })
  const settings = files.flatMap(file => [
    ...read(file).matchAll(/(?:^ {6}|^Environment=|^ {6}- )([A-Z][A-Z_]+)(?:: |=)/gm),
  ])
  const names = new Set(settings.map(([, name = '']) => name))
  t.ok(names.size > 12, [...names].join(' '))
  for (const name of names)
    if (name.endsWith('_SITE')) t.ok(read('ops/caddy/compose.Caddyfile').includes(`{$${name}}`), name)
    else t.ok(name.endsWith('_FILE') ? properties[name.slice(0, -5)]?.secret : name in properties, name)
})

t.test('no front takes a process out after one failed request', async t => {
  for (const file of ['ops/caddy/Caddyfile', 'ops/caddy/compose.Caddyfile'])
    t.notMatch(read(file), /^\s*(fail_duration|max_fails|unhealthy_)/m, file)
})
