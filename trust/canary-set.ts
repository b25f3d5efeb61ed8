import { createHash } from 'node:crypto'

/** What may stand where it is meant to and nowhere else. */
const kinds = {
  person: ['name', 'address', 'email', 'description', 'remark', 'parameter', 'inboundText', 'profileName', 'staffName'],
  phone: ['phone', 'secondaryPhone', 'recipient', 'writer'],
  secret: ['password', 'accessToken', 'nextToken', 'appSecret', 'verifyToken', 'certificate', 'strangeToken'],
  pin: ['pin'],
} as const

type Kind = keyof typeof kinds
export type CanaryName = (typeof kinds)[Kind][number]
export type Canaries = Record<CanaryName, string>

/** Letters and digits alone: no way of writing them down changes them. */
export const makeCanaries = (seed: number): Canaries => {
  const hashOf = (name: string) => createHash('sha256').update(`${seed} ${name}`).digest('hex')
  const digits = (name: string, count: number) =>
    (BigInt(`0x${hashOf(name)}`) % 10n ** BigInt(count)).toString().padStart(count, '0')
  const make = (kind: Kind, name: string): string => {
    // 0 before the last six digits: the simulator has no trick for such a number.
    if (kind === 'phone') return `770${digits(name, 6)}`
    return kind === 'pin' ? digits(name, 6) : `canary${hashOf(name).slice(0, 20)}`
  }
  const entries = Object.entries(kinds).flatMap(([kind, names]) => names.map(name => [name, make(kind as Kind, name)]))
  return Object.fromEntries(entries)
}

/** The names of what is found in the text. Tokens that services gave out are looked for like canaries. */
export const findIn = (text: string, canaries: Record<string, string>): string[] => {
  const lower = text.toLowerCase()
  return Object.entries(canaries).flatMap(([name, canary]) => (holds(lower, canary.toLowerCase()) ? [name] : []))
}

/** Six digits are easily part of a longer number or of an id: they count when they stand alone. */
const holds = (text: string, canary: string): boolean =>
  canary.length > 6 ? text.includes(canary) : new RegExp(`(?<![0-9a-z.-])${canary}(?![0-9a-z-])`).test(text)
