import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../basics/one-of.ts'
import { type RequestName, requestNames, Trouble } from './trouble.ts'

export const Script = Type.Object(
  {
    call: Type.Optional(oneOf([...requestNames, 'any'], { description: 'Default messages.' })),
    times: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'How many requests meet it; default 1, null is until reset.',
        must: 'be a whole number from 1, or null',
      }),
    ),
    recipient: Type.Optional(
      Type.String({
        maxLength: 20,
        pattern: '^[0-9]{3,20}$',
        description: 'Only sends to this number.',
        must: 'be digits',
      }),
    ),
    trouble: Trouble,
  },
  { title: 'Script' },
)
export type Script = Static<typeof Script>

/** The troubles that a test has set, applied in the order in which they were set. */
export interface Scripts {
  add(script: Script): void
  /** Returns and uses up the trouble of this request; `recipient` in digits. */
  take(request: RequestName, recipient?: string): Trouble | undefined
  /** Does as `take`, but only for a trouble that does not wait for the body. */
  takeBeforeReading(request: RequestName): Trouble | undefined
  list(): Script[]
  clear(): void
}

export const createScripts = (): Scripts => {
  let waiting: (Script & { left: number })[] = []

  const takeFirst = (matches: (script: Script) => boolean): Trouble | undefined => {
    if (waiting.length === 0) return undefined
    const script = waiting.find(matches)
    if (!script) return undefined
    script.left -= 1
    if (script.left === 0) waiting = waiting.filter(other => other !== script)
    return script.trouble
  }
  const isFor = ({ call = 'messages' }: Script, request: RequestName) => call === request || call === 'any'

  return {
    add(script) {
      waiting.push({ ...script, left: script.times === null ? Infinity : (script.times ?? 1) })
    },
    take: (request, recipient) =>
      takeFirst(
        script =>
          isFor(script, request) &&
          script.trouble.kind !== 'refused' &&
          (script.recipient === undefined || script.recipient === recipient),
      ),
    takeBeforeReading: request => takeFirst(script => isFor(script, request) && script.trouble.kind === 'refused'),
    list: () => waiting.map(({ left, ...script }) => ({ ...script, times: left === Infinity ? null : left })),
    clear() {
      waiting = []
    },
  }
}

/** How every request fails during an outage, before its body is read. Control and the page keep working. */
const outageModes = ['reset', 'hang', 'unavailable'] as const

export const Outage = Type.Union(
  [
    oneOf(outageModes, {
      description:
        'reset cuts the connection; hang sends nothing until the outage ends, then cuts it; unavailable is 503 with code 2.',
    }),
    Type.Null({ description: 'No outage.' }),
  ],
  { must: `be one of ${outageModes.join(', ')}, or null` },
)
export type Outage = Static<typeof Outage>
