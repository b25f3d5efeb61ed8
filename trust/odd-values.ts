import fc from 'fast-check'

/** Mixes arbitraries, each as often as its weight says. */
export const mix = <Value>(...parts: [weight: number, arbitrary: fc.Arbitrary<Value>][]): fc.Arbitrary<Value> =>
  fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })))

/** Lists texts that are known to break programs. */
const texts = [
  ...['', ' ', '\0', 'a\0b', '\ud800', 'a\udfffb', '\u202ebackwards'],
  ...['👩‍👩‍👧‍👦', '\ufeff', '\uffff', '�', 'e\u0301', '٣'],
  ...'__proto__ constructor toString null NaN Infinity -0 1e999 0x10 1_000 2147483648 9223372036854775808'.split(' '),
  ...['$1', '%s%n', '../../etc/passwd', '{{1}}', '<script>', '\\u0000', '\\', "'; drop table orders; --"],
  ...['2027-02-30T25:61:00Z', '+275760-09-13T00:00:00.001Z', 'ﷺ'.repeat(100), '9'.repeat(400), 'x'.repeat(70_000)],
]

const numbers = [
  ...[0, -0, -1, 0.1, 1e-320, 1e21, 1e308, -1e308, Number.MAX_VALUE, Number.MIN_VALUE],
  ...[2 ** 31, -(2 ** 31) - 1, 2 ** 53 + 2, 2 ** 63],
]

/** Generates text of all of Unicode, including half a surrogate pair and U+0000. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...texts),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map(units => String.fromCharCode(...units)),
  fc.string({ maxLength: 60 }),
)

const nest = (depth: number, inArray: boolean): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = inArray ? [value] : { a: value }
  return value
}

/** Generates any JSON value, odd ones more often. */
export const anyValue: fc.Arbitrary<unknown> = mix<unknown>(
  [4, anyText],
  [3, fc.oneof(fc.constantFrom(...numbers), fc.double({ noNaN: true }), fc.maxSafeInteger())],
  [2, fc.constantFrom(null, true, false, [], {}, [[]], [null], { length: 1 })],
  [1, fc.jsonValue({ maxDepth: 3 })],
  [1, fc.tuple(fc.integer({ min: 1, max: 1_000 }), fc.boolean()).map(([depth, inArray]) => nest(depth, inArray))],
)

/** Lists bytes that are not JSON, or JSON in an unusual form. */
export const oddBodies: readonly string[] = [
  ...['', ' ', '\ufeff{}', '{"a":"\t"}'],
  ...'null 0 "text" [] {} { } {"a":1}{"b":2} {"a":1,"a":2} {"__proto__":{"a":1}} 1e400 -1e400'.split(' '),
  ...`{"constructor":{"prototype":{"a":1}}} {"cod":1e400} {'a':1} {"a":NaN} {"a":01}`.split(' '),
  ...['"\\ud800"', '{"\\u0000":"\\u0000"}', '['.repeat(100_000), '[1,'.repeat(50_000), '{"a":'.repeat(50_000)],
  '['.repeat(50_000) + ']'.repeat(50_000),
]
