import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../basics/one-of.ts'
import { type CallName, callNames, Trouble } from './trouble.ts'

export const Script = Type.Object(
  {
    call: Type.Optional(oneOf([...callNames, 'any'], { description: 'Default messages.' })),
    times: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'How many calls meet it; default 1, null is until reset.',
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

/** The troubles that a test has ordered, met in the order in which they came. */
export interface Scripts {
  add(script: Script): void
  /** The trouble of this call, used up; `recipient` in digits. */
  take(call: CallName, recipient?: string): Trouble | undefined
  /** As `take`, but only a trouble that does not wait for the body. */
  takeBeforeReading(call: CallName): Trouble | undefined
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
  const isFor = ({ call: wanted = 'messages' }: Script, call: CallName) => wanted === call || wanted === 'any'

  return {
    add(script) {
      waiting.push({ ...script, left: script.times === null ? Infinity : (script.times ?? 1) })
    },
    take: (call, recipient) =>
      takeFirst(
        script =>
          isFor(script, call) &&
          script.trouble.kind !== 'refused' &&
          (script.recipient === undefined || script.recipient === recipient),
      ),
    takeBeforeReading: call => takeFirst(script => isFor(script, call) && script.trouble.kind === 'refused'),
    list: () => waiting.map(({ left, ...script }) => ({ ...script, times: left === Infinity ? null : left })),
    clear() {
      waiting = []
    },
  }
}

/** How every call fails during an outage, before it is read. The control calls and the page keep working. */
export const outageModes = ['reset', 'hang', 'unavailable'] as const

export const Outage = Type.Union(
  [
    oneOf(outageModes, {
      description:
        'reset cuts the connection; hang answers nothing until the outage ends, then cuts it; unavailable is 503 with code 2.',
    }),
    Type.Null({ description: 'No outage.' }),
  ],
  { must: `be one of ${outageModes.join(', ')}, or null` },
)
export type Outage = Static<typeof Outage>
