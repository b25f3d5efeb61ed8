import { type TSchema, Type } from '@sinclair/typebox'

/** Describes a capability in the one list of a service, `capabilities.ts`. */
export interface Listed<Capability> {
  readonly load: () => Promise<Capability>
  /** Names the capabilities that this one imports. */
  readonly needs?: readonly string[]
  readonly holds?: Held
}

/** Describes rows whose promise breaks without their capability: the service does not start without it. */
export interface Held {
  /** Selects them, as a `from` clause; $1 is the tenant. */
  readonly fromSql: string
  readonly because: string
  /** Says what to do before it is left out; undefined: it stays. */
  readonly wayOut?: string
  /** true: moves must reach the rows. A process that runs without it moves no order of a tenant that has some. */
  readonly followsMoves?: boolean
}

type List<Capability> = Readonly<Record<string, Listed<Capability>>>

/** Returns the names that a setting chooses, in the order of the list: `all`, `none`, or names with commas between. */
export const chooseCapabilities = (list: List<unknown>, setting: string): readonly string[] => {
  const words = setting.split(',').map(word => word.trim())
  return Object.keys(list).filter(name => words.includes(name) || setting.trim() === 'all')
}

/** Says what is wrong with a setting of capabilities; undefined: nothing is. */
export const findCapabilitiesProblem = (list: List<unknown>, setting: string): string | undefined => {
  if (['all', 'none'].includes(setting.trim())) return undefined
  const words = setting.split(',').map(word => word.trim())
  const known = Object.keys(list).join(', ')
  const unknown = words.find(word => !Object.hasOwn(list, word))
  if (unknown !== undefined)
    return `must be all, none, or some of ${known}, with commas between; not ${JSON.stringify(unknown)}`
  const lacking = words.flatMap(word =>
    (list[word]?.needs ?? []).flatMap(needed => (words.includes(needed) ? [] : [`${word} needs ${needed}`])),
  )
  return lacking.length > 0 ? `must name what others need: ${lacking.join(', ')}` : undefined
}

/** Defines the setting `name`, which chooses the capabilities of a service. */
export const CapabilityNames = (name: string, list: List<unknown>): TSchema & { static: string } =>
  Type.String({
    default: 'all',
    maxLength: 1000,
    description: `the capabilities that the service loads: all, none, or some of ${Object.keys(list).join(', ')}`,
    must: 'be all, none, or names with commas between',
    problem: (text: string) => {
      const problem = findCapabilitiesProblem(list, text)
      return problem && `${name} ${problem}`
    },
  })

/** Imports the capabilities that a setting chooses, by name; nothing of the others is loaded. */
export const loadCapabilities = async <Capability>(
  list: List<Capability>,
  setting: string,
): Promise<ReadonlyMap<string, Capability>> => {
  const names = chooseCapabilities(list, setting)
  return new Map(
    await Promise.all(names.map(async name => [name, await (list[name] as Listed<Capability>).load()] as const)),
  )
}
