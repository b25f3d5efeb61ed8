import type pg from 'pg'
import { Gauge, type Registry } from 'prom-client'

/** Is the day on which somebody last compared this table with what both projects publish. */
const comparedOn = '2026-11-29'
const staleDays = 90

interface Fix {
  /** Is the first release of its line with the newest fixes of security holes that we know. */
  readonly version: string
  /** Names the gravest holes that it closes, for people who look them up. */
  readonly holes: string
}

/**
 * Holds the newest security releases by program and major version. Their sources are
 * nodejs.org/en/blog/vulnerability/october-2026-security-releases and postgresql.org/support/security.
 */
const fixes: Readonly<Record<'Node' | 'Postgres', Readonly<Record<string, Fix>>>> = {
  Node: {
    24: { version: '24.22.1', holes: 'CVE-2026-111497, CVE-2026-105482, CVE-2026-105483, CVE-2026-106069' },
    26: { version: '26.12.1', holes: 'CVE-2026-111497, CVE-2026-105482, CVE-2026-105483, CVE-2026-106069' },
  },
  Postgres: { 18: { version: '18.7', holes: 'CVE-2026-6460, and those that 18.6 closed' } },
}

/** Says which fixes a version such as `24.21.0` or `18.4 (Debian)` lacks; undefined: none that the table has. */
export const findMissingFixes = (program: keyof typeof fixes, version: string): string | undefined => {
  const major = String(Number.parseInt(version, 10))
  const fix = fixes[program][major]
  if (fix ? isAtLeast(version, fix.version) : isNewer(program, major)) return undefined
  if (!fix) return `${program} ${version} gets no security fixes: use a newer major version`
  return `${program} ${version} lacks the security fixes of ${fix.version} (${fix.holes}): update it`
}

const isAtLeast = (version: string, wanted: string): boolean =>
  (version.match(/^[\d.]+/)?.[0] ?? '').localeCompare(wanted, 'en', { numeric: true }) >= 0

const isNewer = (program: keyof typeof fixes, major: string): boolean =>
  Object.keys(fixes[program]).every(known => Number(known) < Number(major))

/** Says that the table is too old to be relied on; undefined: it is not. */
export const findStaleTable = (now: Date): string | undefined =>
  now.getTime() - Date.parse(comparedOn) > staleDays * 86_400_000
    ? `The table of security fixes is of ${comparedOn}: upgrade Courier, or compare Node and Postgres with their newest releases`
    : undefined

const findPostgresFixes = async (pool: pg.Pool): Promise<string | undefined> => {
  const { rows } = await pool.query("select current_setting('server_version') as version")
  return findMissingFixes('Postgres', rows[0].version)
}

/** Lists what to do about this process's Node, its Postgres and the table; empty: nothing. */
export const listMissingFixes = async (pool: pg.Pool, now = new Date()): Promise<string[]> => {
  const found = [findMissingFixes('Node', process.versions.node), await findPostgresFixes(pool)]
  return [...found, findStaleTable(now)].filter(text => text !== undefined)
}

/** Registers a gauge that is 1 for a program without the newest fixes. Postgres is asked at most once a minute. */
export const watchFixes = (pool: pg.Pool, registry: Registry): void => {
  let [asked, postgres] = [Number.NEGATIVE_INFINITY, 0]
  new Gauge({
    name: 'security_fixes_missing',
    help: '1: this program is older than the newest security release that Courier knows of.',
    labelNames: ['program'],
    registers: [registry],
    async collect() {
      this.set({ program: 'node' }, findMissingFixes('Node', process.versions.node) ? 1 : 0)
      if (performance.now() - asked > 60_000) {
        asked = performance.now()
        postgres = await findPostgresFixes(pool).then(
          fixes => (fixes ? 1 : 0),
          () => postgres,
        )
      }
      this.set({ program: 'postgres' }, postgres)
    },
  })
}
