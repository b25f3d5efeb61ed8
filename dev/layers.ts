/**
 * The folders of each package, the highest first: a file imports only from its own folder and from those after it. `.` is
 * the package's root. A package imports only from itself and its `packages`.
 */
export const layers: Readonly<Record<string, { readonly folders: string; readonly packages: string }>> = {
  'services/orders': {
    folders:
      '. restoring provisioning customer-actions editing booking merchant-webhooks outbox delivery changes labels tracking-page reports lists moves tracking statuses rate-gaps catalogue access database',
    packages: 'shared',
  },
  'services/notifier': {
    folders:
      '. portal restoring provisioning timeline preflight delivery events platform-webhooks inbox sending messages customer-actions costs channels conversations templates access orders-client database messaging-api',
    packages: 'shared',
  },
  shared: { folders: 'cli http postgres contract .', packages: '' },
  simulator: {
    folders: '. page control send numbers templates responses world webhooks messages accounts trouble graph basics',
    packages: 'shared',
  },
}

export interface Import {
  readonly from: string
  readonly to: string
}

/** The imports, of types too, that `tsc --explainFiles` lists: a file's path, then a line for each import of it. */
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

/** A sentence for each import that leads upwards. Tests may import anything. */
export const findUpwardImports = (imports: readonly Import[]): string[] =>
  imports.flatMap(({ from, to }) => {
    const [above, below] = [placeOf(from), placeOf(to)]
    if (!above || !below || isTest(from)) return []
    if (above.name !== below.name)
      return layers[above.name]?.packages.split(' ').includes(below.name)
        ? []
        : `${from} imports ${to}, another package.`
    if (below.level === -1) return `${to} lies in a folder that dev/layers.ts does not name.`
    return above.level > below.level ? `${from} imports ${to}, which lies in a higher folder (dev/layers.ts).` : []
  })

const isTest = (file: string): boolean => /(^|\/)test\/|\.test\.ts$/.test(file)

const placeOf = (file: string): { name: string; level: number } | undefined => {
  const name = Object.keys(layers).find(folder => file.startsWith(`${folder}/`))
  if (name === undefined || file.includes('node_modules')) return undefined
  const inside = file.slice(name.length + 1)
  const folder = inside.includes('/') ? inside.slice(0, inside.indexOf('/')) : '.'
  return { name, level: (layers[name]?.folders.split(' ') ?? []).indexOf(folder) }
}
