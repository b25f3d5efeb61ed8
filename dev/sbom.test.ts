import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from './settings.ts'

interface Component {
  name: string
  version: string
  purl: string
  properties?: { name: string }[]
  licenses?: { license?: { id?: string; name?: string }; expression?: string }[]
}

/** Repeats the command in SECURITY.md. `--omit dev` would leave out packages that development shares, such as pg. */
const sbom = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']

/** Lists the licences under which a closed product may ship a package, with its notice. */
const permissive = [
  'MIT',
  'MIT-0',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  '0BSD',
  'Unlicense',
  'OFL-1.1',
]

/** Lists the packages that contain a licence text but do not name the licence in their package.json. */
const unnamedLicences: Readonly<Record<string, string>> = { 'png-js@2.0.0': 'MIT' }

const bill = JSON.parse(execFileSync('npm', sbom, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
const isDevelopmentOnly = ({ properties = [] }: Component): boolean =>
  properties.some(({ name }) => name === 'cdx:npm:package:development')
const components = (bill.components as Component[]).filter(component => !isDevelopmentOnly(component))
const formatId = ({ name, version }: Component): string => `${name}@${version}`
const formatLicence = ({ licenses = [] }: Component): string =>
  licenses.map(({ license, expression }) => license?.id ?? license?.name ?? expression).join(' and ')

t.test('the bill of materials is CycloneDX and names each production package in the lock file', t => {
  t.equal(bill.bomFormat, 'CycloneDX')
  const lock: Record<string, { version: string; dev?: boolean; devOptional?: boolean; link?: boolean }> = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  ).packages
  const locked = Object.entries(lock)
    .filter(([path, { dev, devOptional, link }]) => path.includes('node_modules/') && !dev && !devOptional && !link)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`)
  const listed = new Set(components.map(formatId))
  t.ok(locked.length > 50)
  t.strictSame(
    locked.filter(id => !listed.has(id)),
    [],
  )
  t.ok(components.every(({ purl }) => purl.startsWith('pkg:npm/')))
  t.end()
})

t.test('every production package has a permissive licence', t => {
  for (const component of components.filter(
    ({ name }) => !/^(orders|notifier|simulator|shared|@courier\/.*)$/.test(name),
  )) {
    const id = formatId(component)
    const licence = formatLicence(component) || unnamedLicences[id] || 'none'
    // `A or B` leaves the choice to whoever ships the package.
    const choices = licence.replaceAll(/[()]/g, '').split(' OR ')
    t.ok(
      choices.some(choice => permissive.includes(choice)),
      `${id}: ${licence}`,
    )
  }
  t.end()
})
