import { globSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promiseNames } from '../trust/promises.ts'
import { root } from './settings.ts'
import { onCitus } from './test-database.ts'

/** Holds files that run one after the other in one process, under the same settings, until the group is empty. */
export interface Group {
  /** Are the arguments of its processes. */
  readonly words: readonly string[]
  readonly environment: { readonly TEST_CAPABILITIES: 'all' | 'none' }
  /** Runs the file itself, instead of dev/test-folder.ts. */
  readonly isAlone: boolean
  /** Starts only once the browsers, the containers and the cluster are there. */
  readonly needsPrograms: boolean
  /** Names the files that wait, the longest first. */
  readonly files: string[]
}

const folders = '{bench,dev,services,shared,simulator,test,trust}/**/*.test.ts'
/** Matches tests that take long, need other programs, or cover code that rarely changes. */
const onlyInAll = [
  /^(trust|bench)\//,
  /^test\/(compose|console|console-[a-z]+|desk|desk-(killed|programs)|docs-page|examples|failover|imports|ops-programs|pgbouncer|pitr|portal-none|proofs|rider|rider-day|restored|secrets|simulator-page|start|traces|tracking-page|two-notifiers|upgrade|without-docker)\.test\.ts$/,
  /^services\/notifier\/(.*\/)?(apply-rules|costs|crash|fair|keys|late-outcomes|portfolio-days|process|proven-numbers|queue-hazards|recipient-pause|replies|replies-address|send-command|stopping|webhooks-cost|webhooks-load|webhooks-storm)\.test\.ts$/,
  /^services\/orders\/(.*\/)?(admin|catalogue-memory|closing|cors|labels|login-floods|lost-responses|merchants|messaging|on-citus|payouts-killed|process|provisioning|relay-failures|relay-processes|silent-connections|token-floods|webhooks-failures|whole-lists)\.test\.ts$/,
  /^(dev\/(install|sbom|seam|test)|simulator\/test\/process)\.test\.ts$/,
]
/** Returns true if only --all runs the file. */
export const isOnlyInAll = (file: string): boolean => onlyInAll.some(form => form.test(file))

/** Lists the tests that --all also runs on Citus, if TEST_CITUS_URL names a cluster. */
const alsoOnCitus = [
  ...globSync(
    'services/orders/{on-citus,out-and-in,phones,same-digits,core/{booking/bulk,relay/relay,tracking/tracking-keys},capabilities/{feed/{changes,webhooks},rate-gaps/rate-gaps,money/corrections/corrections,books/{journal,months,shops-day},shops/shops,failures/instructions}}.test.ts',
    { cwd: root },
  ),
  'trust/promises.test.ts fuzz',
]
export const checks = 'dev/check.ts'
/** Runs after all others, which would slow down its comparison. */
const measuring = 'bench/regression.test.ts'
/** Runs the promises that are its arguments. */
const shortForms = 'trust/promises.test.ts'
/** Lists the promises that share a process, which takes two seconds to load and compile both services. */
const together = ['access cost fuzz', 'canaries roles row-security', 'killed presses', 'repeated-requests restarts']

/** Matches files that share no process with another file. */
const alone = [
  // Is no test, but a program.
  /^dev\/check\.ts$/,
  // Compares the speed of two releases.
  /^bench\/regression\.test\.ts$/,
  // Measure the memory of their process.
  /\/(body-limits|catalogue-memory|limits|webhooks-cost)\.test\.ts$/,
  // Reads the names of promises from its arguments.
  /^trust\/promises\.test\.ts$/,
]

/**
 * Lists the seconds of long tests in a whole run on two cores. A first run, without recorded durations, such as one of
 * the CI, starts the longest first.
 */
const knownSeconds: Readonly<Record<string, number>> = {
  'test/compose.test.ts': 270,
  'dev/seam.test.ts': 170,
  'test/rider.test.ts': 170,
  'test/upgrade.test.ts': 150,
  'trust/promises.test.ts access cost fuzz': 120,
  'test/failover.test.ts': 115,
  'services/orders/admin.test.ts': 60,
  'services/orders/process.test.ts': 55,
  'test/docs-page.test.ts': 95,
  'test/desk-programs.test.ts': 85,
  'test/desk-mistakes.test.ts': 80,
  'trust/promises.test.ts killed presses': 80,
  'test/rider-day.test.ts': 75,
  'services/orders/capabilities/feed/webhooks.test.ts on-citus': 65,
  'trust/promises.test.ts repeated-requests restarts': 65,
  'dev/check.ts': 60,
  'test/desk-grid.test.ts': 60,
  'test/desk-questions.test.ts': 60,
  'test/imports.test.ts': 60,
  'bench/bench.test.ts': 60,
  'trust/promises.test.ts canaries roles row-security': 60,
  'services/orders/out-and-in.test.ts on-citus': 55,
  'test/console-conversations.test.ts': 55,
  'test/desk-killed.test.ts': 55,
  'test/portal-browsers.test.ts': 55,
  'trust/promises.test.ts chaos': 55,
  'services/notifier/core/sending/fair.test.ts': 50,
  'test/desk.test.ts': 50,
  'test/pitr.test.ts': 50,
  'test/start.test.ts': 50,
  'trust/promises.test.ts models': 50,
  'services/notifier/core/channels/keys.test.ts': 45,
  'services/notifier/crash.test.ts': 45,
  'services/orders/same-digits.test.ts': 45,
  'test/console-money.test.ts': 45,
  'dev/test.test.ts': 40,
  'services/orders/capabilities/money/corrections/corrections.test.ts on-citus': 40,
  'services/orders/capabilities/money/invoices/issuing.test.ts': 40,
  'services/orders/capabilities/money/month.test.ts': 40,
  'services/orders/core/relay/relay.test.ts on-citus': 40,
  'test/console-scan.test.ts': 40,
  'test/console-selection.test.ts': 40,
  'test/portal-none.test.ts': 40,
  'trust/promises.test.ts soak': 40,
  'services/notifier/core/customer-actions/replies-address.test.ts': 35,
  'services/orders/core/relay/relay-failures.test.ts': 35,
  'test/console.test.ts': 35,
  'trust/promises.test.ts webhooks': 35,
  'services/notifier/capabilities/inbox/responders.test.ts': 30,
  'services/orders/capabilities/feed/webhooks-failures.test.ts': 30,
  'services/orders/core/provisioning/merchants.test.ts': 30,
  'services/orders/core/provisioning/provisioning.test.ts': 30,
  'services/orders/on-citus.test.ts on-citus': 30,
  'services/orders/same-digits.test.ts on-citus': 30,
  'trust/promises.test.ts restored': 30,
}

type Durations = Readonly<Record<string, number>>

/** Estimates the seconds of a file: as in the last run, else by the list above, else by its size. */
const estimate = (file: string, durations: Durations): number =>
  durations[file] ??
  knownSeconds[file] ??
  (isOnCitus(file) ? 15 + estimate(file.replace(` ${onCitus}`, ''), durations) : bySize(file))

const isOnCitus = (file: string): boolean => file.endsWith(` ${onCitus}`)

const bySize = (file: string): number =>
  (statSync(join(root, file.split(' ')[0] ?? ''), { throwIfNoEntry: false })?.size ?? 0) / 2_000

/** Estimates the seconds that the waiting files of a group take. */
export const estimateGroup = ({ files }: Group, durations: Durations): number =>
  files.reduce((sum, file) => sum + estimate(file, durations), 0)

const findFiles = (all: boolean): string[] =>
  globSync(folders, { cwd: root, exclude: ['**/node_modules/**'] })
    .filter(file => all || !isOnlyInAll(file))
    .flatMap(file => (file === shortForms ? listPromises().map(names => `${file} ${names}`) : file))
    .concat(all && process.env.TEST_CITUS_URL ? alsoOnCitus.map(file => `${file} ${onCitus}`) : [])
    .concat(checks)
    .toSorted()

const listPromises = (): string[] => {
  const joined = together.flatMap(names => names.split(' '))
  return [...together, ...promiseNames.filter(name => !joined.includes(name))]
}

/** Names the code that a file needs, which takes a process seconds to load. */
const findHome = (path: string): string =>
  /^services\/[a-z]+\/(core|capabilities)(?=\/)/.exec(path)?.[0] ?? dirname(path)

/** Makes a group of files that need the same code. The core of a service and its tests run without capabilities. */
const groupFiles = (files: readonly string[], isAlone: (file: string) => boolean, durations: Durations): Group[] =>
  [
    ...Map.groupBy(files, file => {
      const [path = '', ...words] = file.split(' ')
      return [isAlone(file) ? path : findHome(path), ...words].join(' ')
    }).values(),
  ].map(files => {
    const [path = '', ...words] = (files[0] ?? '').split(' ')
    return {
      words,
      environment: { TEST_CAPABILITIES: /(^|\/)services\/[a-z]+\/core\//.test(path) ? 'none' : 'all' },
      isAlone: isAlone(files[0] ?? ''),
      needsPrograms: path.startsWith('test/') || words.includes(onCitus),
      files: files.toSorted((a, b) => estimate(b, durations) - estimate(a, durations)),
    }
  })

interface Choice {
  readonly all: boolean
  /** Names files, which run alone, and folders, whose files share processes. Without any, all tests run. */
  readonly named: readonly string[]
  readonly durations: Durations
}

/** Returns the groups that run side by side, and those that run one after the other once these have ended. */
export const chooseGroups = ({ all, named, durations }: Choice): { groups: Group[]; last: Group[] } => {
  if (named.length > 0) {
    const found = named.map(path => ({ path, below: globSync(`${path}/*.test.ts`, { cwd: root }) }))
    const files = found.flatMap(({ path, below }) => (below.length > 0 ? below : path))
    return { groups: groupFiles(files, file => named.includes(file), durations), last: [] }
  }
  const groups = groupFiles(findFiles(all), file => alone.some(form => form.test(file)), durations)
  const isLast = ({ files }: Group): boolean => files.includes(measuring)
  return { groups: groups.filter(group => !isLast(group)), last: groups.filter(isLast) }
}
