// Lists the folders of each package, their purposes and allowed imports. Run as a program, this file writes the
// folders and purposes into architecture.md.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './settings.ts'

/** Lists folders, highest first: a file imports only from its own folder and those below. `.` is the package's root. */
export const layers: Readonly<Record<string, readonly (readonly [folder: string, purpose: string])[]>> = {
  'services/orders': [
    ['.', 'starts the process: settings, routes, workers, commands'],
    ['capabilities/restoring', 'repairs a database that was restored from a backup'],
    ['capabilities/agents', "serves tools by which a merchant's agents book and follow parcels"],
    ['capabilities/pickups', 'lets merchants ask for pickups, which staff assign and count; keeps their messages'],
    ['capabilities/riders', 'gives parcels to riders, whose phones say what became of them; keeps proofs'],
    ['capabilities/customer-actions', 'acts on buttons that recipients press; keeps the requests that staff decide on'],
    ['capabilities/failures', 'counts failed deliveries; stores what is to follow, and decides whose word counts'],
    ['capabilities/editing', 'changes an order: all of it before its pickup, later only the contact, by staff'],
    ['capabilities/books', 'shows the ledger to accountants: trial balance, journal, statements, month report'],
    ['capabilities/money', 'books what recipients paid, fees and taxes: ledger, cash, invoices, pay runs'],
    ['capabilities/labels', 'prints labels and run sheets as PDF, labels also as ZPL; draws PDFs in a thread'],
    ['capabilities/shops', "takes the orders that merchants' shops send, books them, and writes back"],
    ['capabilities/feed', "numbers the log into merchants' feeds; sends it to their addresses, signed, in order"],
    ['capabilities/sign-in', 'invites people; keeps sessions and second factors; signs in by providers'],
    ['capabilities/people', 'lets a merchant keep the people who log in for it'],
    ['capabilities/tracking-page', 'shows a parcel to its recipient, in three languages'],
    ['capabilities/reports', "sums up orders: a summary for merchants, the day's metrics for staff"],
    ['capabilities/rate-gaps', 'reports the combinations of cities that rate cards lack'],
    ['core/provisioning', 'applies company files: cities, rate cards, merchants, statuses'],
    ['core/booking', 'books batches: checks, numbers, writes and explains them'],
    ['core/relay', 'delivers the log to the notifier, in order, at least once'],
    ['core/log', 'keeps an append-only log per tenant; leases, polls and backs off for its readers'],
    ['core/lists', 'lists orders: pages, filters, look-ups of many orders'],
    ['core/moves', 'moves orders between statuses: legal moves, all or nothing'],
    ['core/tracking', 'reads orders, with the facets of capabilities; shows one order and its timeline'],
    ['core/catalogue', 'keeps one version of a company in memory: cities, rate cards, names, statuses; finds prices'],
    ['core/places', 'finds the city that a person means, or similar ones; pure'],
    ['core/actions', 'runs a request that changes something once for its key, in one transaction, audited'],
    ['core/statuses', "keeps a company's set of statuses; says which moves merchants may make"],
    ['core/access', 'logs merchants and staff in; creates and finds tokens'],
    ['core/database', 'describes the tables and migrates them'],
  ],
  'services/notifier': [
    ['.', 'starts the process: settings, routes, workers, commands'],
    ['capabilities/inbox', 'lists what customers write; stores replies of staff'],
    ['capabilities/preflight', 'checks what a send would do, without sending'],
    ['capabilities/timeline', 'merges the statuses of a parcel and its messages'],
    ['capabilities/doctor', 'finds out whether messaging works, and says what to do'],
    ['capabilities/restoring', 'repairs a database that was restored from a backup'],
    ['capabilities/customer-actions', 'seals actions into buttons, which alone act; delivers presses to orders'],
    ['capabilities/costs', 'prices messages; keeps marketing within the budget of the month'],
    ['capabilities/account-limits', 'keeps messages within the limits of portfolios; shows news of accounts'],
    ['capabilities/per-person', 'sends one message about several parcels of a person'],
    ['core/provisioning', 'applies company files: channels, rules; seals secrets with new keys'],
    ['core/events', 'turns events of orders into the messages that rules make, once'],
    ['core/platform-webhooks', 'verifies and reads webhooks of the messaging API; applies them forward only'],
    ['core/sending', 'sends queued messages: claims, checks and writes them, stores outcomes, retries'],
    ['core/messages', 'accepts, lists and cancels messages'],
    ['core/channels', 'keeps numbers: credentials, registration, health'],
    ['core/conversations', 'keeps what customers wrote, the 24-hour window and opt-outs; knows the words for them'],
    ['core/templates', 'syncs the catalogue of templates; checks and renders parameters'],
    ['core/access', 'finds the member of staff behind a token of the notifier or of orders'],
    ['core/orders-client', 'reads orders and staff from the orders service'],
    ['core/database', 'describes the tables and migrates them'],
    ['core/messaging-api', 'calls the messaging API and classifies its errors'],
  ],
  shared: [
    ['cli', "builds the operator's commands"],
    ['access', 'admits callers by token: staff with their roles, the other service'],
    ['lists', 'reads the query of a list: filters, dates, pages'],
    ['edge', 'builds the servers: limits, bodies, connections, validation, logs, health, start and stop'],
    ['api-docs', 'completes the OpenAPI document; serves it and the pages to read it'],
    ['errors', 'lists the error codes; words what is wrong with a field'],
    ['postgres', "runs a tenant's transactions; migrates, batches, audits, stores tokens"],
    ['contract', 'states the contract between the two services'],
    ['.', 'reads settings; logs, traces, seals'],
  ],
  simulator: [
    ['.', 'starts the process: settings, routes'],
    ['page', 'shows the messages in a browser'],
    ['control', 'lets tests cause errors and press buttons'],
    ['api', 'serves the requests of the platform: sends, numbers, templates; breaks responses'],
    ['world', 'holds the state of a run and its log of requests'],
    ['webhooks', 'sends webhooks, signed'],
    ['messages', 'holds messages and their limits'],
    ['trouble', 'decides which requests fail, and how'],
    ['accounts', 'holds accounts and templates'],
    ['graph', "words errors as the platform's Graph API does"],
    ['basics', 'keeps the clock, ring buffers and settings'],
  ],
}

/** Begins the block of architecture.md in which `writeFolders` writes the folders, as tables; `blockEnd` ends it. */
export const blockStart = '<!-- Written by dev/layers.ts. -->'
export const blockEnd = '<!-- End of what dev/layers.ts writes. -->'

export const writeFolders = (page: string): string => {
  const isCapability = ([folder]: readonly [string, string]): boolean => folder.startsWith('capabilities/')
  const services = Object.entries(layers).filter(([name]) => name.startsWith('services/'))
  const tables = [
    ...services.map(([name, folders]) =>
      writeTable(
        `${name}/`,
        folders.filter(each => !isCapability(each)),
      ),
    ),
    ...services.map(([name, folders]) => writeTable(`${name}/capabilities/`, folders.filter(isCapability))),
    ...Object.entries(layers)
      .filter(([name]) => !name.startsWith('services/'))
      .map(([name, folders]) => writeTable(`${name}/`, folders)),
  ]
  const [before = '', after = ''] = [page.split(blockStart)[0], page.split(blockEnd)[1]]
  return [`${before}${blockStart}`, ...tables, `${blockEnd}${after}`].join('\n\n')
}

const writeTable = (name: string, folders: readonly (readonly [string, string])[]): string => {
  const rows = folders.map(([folder, purpose]) => {
    const shown = folder.replace(/^capabilities\//, '')
    return `| ${folder === '.' ? '*root*' : `\`${shown}/\``} | ${purpose} |`
  })
  return [`| \`${name}\` | |`, '|---|---|', ...rows].join('\n')
}

interface Import {
  readonly from: string
  readonly to: string
}

/** Reads all imports, even of types, from `tsc --explainFiles`: a file's path, then a line for each importer. */
export const readImports = (explained: string): Import[] => {
  const imports: Import[] = []
  let to = ''
  for (const line of explained.split('\n')) {
    if (!line.startsWith(' ')) to = line
    const from = /^ +Imported via '[^']*' from file '([^']*)'/.exec(line)?.[1]
    if (from !== undefined) imports.push({ from, to })
  }
  return imports
}

/** Returns a sentence for each import from a higher folder, or from a package other than shared. Exempts tests. */
export const findUpwardImports = (imports: readonly Import[]): string[] =>
  imports.flatMap(({ from, to }) => {
    const [above, below] = [findLayer(from), findLayer(to)]
    if (!above || !below || isTest(from)) return []
    if (above.name !== below.name) return below.name === 'shared' ? [] : `${from} imports ${to}, another package.`
    if (below.level === -1) return `${to} lies in a folder that dev/layers.ts does not name.`
    if (isTypeOfCapabilities(from, to)) return []
    return above.level > below.level ? `${from} imports ${to}, which lies in a higher folder (dev/layers.ts).` : []
  })

const isTypeOfCapabilities = (from: string, to: string): boolean =>
  from.includes('/capabilities/') && to.endsWith('/capability.ts') && findLayer(to)?.level === 0

type Lists = Readonly<Record<string, Readonly<Record<string, { readonly needs?: readonly string[] }>>>>

/** Reads the lists of capabilities of the services, by folder of the service. */
export const readCapabilities = async (): Promise<Lists> => {
  const files = globSync('services/*/capabilities.ts', { cwd: root })
  const lists = files.map(async file => [dirname(file), (await import(join(root, file))).capabilities] as const)
  return Object.fromEntries(await Promise.all(lists))
}

/**
 * Returns a sentence for each import of a capability by another file of its service than the list, itself, and those
 * that need it. Exempts tests, but not those of the core: they run without capabilities.
 */
export const findSeamBreaks = (imports: readonly Import[], lists: Lists): string[] =>
  imports.flatMap(({ from, to }) => {
    const [, service = '', wanted = ''] = /^(services\/[^/]+)\/capabilities\/([^/]+)\//.exec(to) ?? []
    const list = lists[service]
    const inside = from.startsWith(`${service}/`) ? from.slice(service.length + 1) : undefined
    if (!list || inside === undefined || inside === 'capabilities.ts') return []
    if (isTest(from) && !inside.startsWith('core/')) return []
    const capability = /^capabilities\/([^/]+)\//.exec(inside)?.[1]
    if (capability === undefined) return [`${from} imports ${to}, a capability, which may be left out.`]
    const mayImport = capability === wanted || list[capability]?.needs?.includes(wanted)
    return mayImport
      ? []
      : [`${from} imports ${to}, but ${capability} does not need ${wanted} (${service}/capabilities.ts).`]
  })

const isTest = (file: string): boolean => /(^|\/)test\/|\.test\.ts$/.test(file)

const findLayer = (file: string): { name: string; level: number } | undefined => {
  const name = Object.keys(layers).find(folder => file.startsWith(`${folder}/`))
  if (name === undefined || file.includes('node_modules')) return undefined
  const inside = file.slice(name.length + 1)
  const folder = /^((core|capabilities)\/)?[^/]+(?=\/)/.exec(inside)?.[0] ?? '.'
  return { name, level: (layers[name] ?? []).findIndex(([one]) => one === folder) }
}

if (import.meta.main) {
  const page = join(root, 'docs/contributors/architecture.md')
  writeFileSync(page, writeFolders(readFileSync(page, 'utf8')))
}
