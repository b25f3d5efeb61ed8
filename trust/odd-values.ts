import fc from 'fast-check'

/** Texts that have broken programs before. */
const texts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\u202ebackwards',
  '👩‍👩‍👧‍👦',
  '\ufeff',
  '\uffff',
  '�',
  'ﷺ'.repeat(100),
  'e\u0301',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  'Infinity',
  '-0',
  '1e999',
  '0x10',
  '1_000',
  '٣',
  '9'.repeat(400),
  '2147483648',
  '9223372036854775808',
  "'; drop table orders; --",
  '$1',
  '%s%n',
  '../../etc/passwd',
  '{{1}}',
  '<script>',
  '\\u0000',
  '\\',
  '2027-02-30T25:61:00Z',
  '+275760-09-13T00:00:00.001Z',
  'x'.repeat(70_000),
]

const numbers = [
  0,
  -0,
  -1,
  0.1,
  1e-320,
  1e21,
  1e308,
  -1e308,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53 + 2,
  2 ** 63,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
]

/** Text of all of Unicode, also of half a surrogate pair and of U+0000. */
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

/** Any JSON value, rather an odd one. */
export const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: anyText },
  { weight: 3, arbitrary: fc.oneof(fc.constantFrom(...numbers), fc.double({ noNaN: true }), fc.maxSafeInteger()) },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { length: 1 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 1_000 }), fc.boolean()).map(([depth, kind]) => nest(depth, kind)),
  },
)

/** Bytes that are no JSON, or JSON that hardly anyone writes. */
export const oddBodies: readonly string[] = [
  '',
  ' ',
  'null',
  '0',
  '"text"',
  '[]',
  '{}',
  '{',
  '}',
  '{"a":1}{"b":2}',
  '{"a":1,"a":2}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{"a":1}}}',
  '1e400',
  '-1e400',
  '{"cod":1e400}',
  '\ufeff{}',
  "{'a':1}",
  '{"a":NaN}',
  '{"a":01}',
  '{"a":"\t"}',
  '"\\ud800"',
  '{"\\u0000":"\\u0000"}',
  '['.repeat(100_000),
  '[1,'.repeat(50_000),
  '{"a":'.repeat(50_000),
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
]
