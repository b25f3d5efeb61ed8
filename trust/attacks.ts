/** Builds a text of any length that is known to slow programs down. `own` is the valid value that it replaces. */
export interface Attack {
  readonly name: string
  readonly text: (length: number, own: string) => string
}

/** Repeats `unit` up to `length`, which counts bytes of JSON for a long text and characters for a short one. */
const repeat = (head: string, unit: string, tail: string, length: number): string => {
  const width = length > 65_536 ? Buffer.byteLength(JSON.stringify(unit)) - 2 : unit.length
  return head + unit.repeat(Math.max(1, Math.floor((length - head.length - tail.length) / width))) + tail
}

const blanks = [' ', '\t', '\n', '\u00a0', '\u2028', '\u3000']
/**
 * Lists units to repeat, among them a combining accent, a ligature of 18 letters, a letter that grows in upper case,
 * and a surrogate pair.
 */
const units = [...'+ { {{ {{}} [ ( " \\ a a@ 9 - . \u0301 \ufdfa ß 😀'.split(' '), 'a ']
/** Breaks any repetition that a pattern matched. */
const stop = '\n!'

const toPrintable = (text: string): string =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const repeatAttack = (head: string, unit: string, tail: string): Attack => ({
  name: `${toPrintable(head + unit)}…${tail && toPrintable(tail)}`,
  text: length => repeat(head, unit, tail, length),
})

export const textAttacks: readonly Attack[] = [
  ...[...blanks, ...units].flatMap(unit => [repeatAttack('', unit, ''), repeatAttack('', unit, stop)]),
  ...blanks.map(unit => repeatAttack('{{', unit, '')),
  ...blanks.map(unit => ({
    name: `its own value ${toPrintable(unit)}…"!"`,
    text: (length: number, own: string) => repeat(own, unit, '!', length),
  })),
]

const joinKeys = (length: number, key: (n: number) => string, comma: string): string =>
  Array.from({ length: Math.ceil(length / (key(100_000).length + 1)) }, (_, n) => key(n)).join(comma)

export const queryAttacks: readonly Attack[] = [
  ...['&', '=', '+', '%', '%20', '[', 'a&', 'a[a]=&'].map(unit => repeatAttack('', unit, '')),
  { name: 'many keys', text: length => joinKeys(length, n => `k${n}=1`, '&') },
]

/** Lists attacks on an unknown field, as JSON. */
export const documentAttacks: readonly Attack[] = [
  { name: 'nested lists', text: length => '['.repeat(length / 2) + ']'.repeat(length / 2) },
  { name: 'nested objects', text: length => `${'{"a":'.repeat(length / 6)}1${'}'.repeat(length / 6)}` },
  { name: 'open lists', text: length => '['.repeat(length) },
  { name: 'many numbers', text: length => `[${'0,'.repeat(length / 2)}0]` },
  { name: 'many keys', text: length => `{${joinKeys(length, n => `"k${n}":0`, ',')}}` },
  { name: 'digits', text: length => '9'.repeat(length) },
  { name: 'escapes', text: length => `"${'\\u0000'.repeat(length / 6)}"` },
]
