import fc from 'fast-check'
import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js'
import t from 'tap'
import { normalisePhone, readDigits, readPhone } from './phone-number.ts'

const person = '+94771234567'

/** Lists spellings of one person's number. */
const spellings = [
  '0771234567',
  '771234567',
  '94771234567',
  '+94771234567',
  '0094771234567',
  '077 123 4567',
  '077-123-4567',
  '077.123.4567',
  '(077) 123-4567',
  '+94 (0)77 123 4567',
  '94 077 123 4567',
  '+94 0771234567',
  '+0771234567',
  '++94771234567',
  '\u202a0771234567\u202c',
  '\u202a+94 77 123 4567\u202c',
  '\u200e0771234567',
  '077\u00a0123\u00a04567',
  '077\u2009123\u202f4567',
  '077\u200b1234567',
  '\ufeff0771234567',
  '077\u00ad1234567',
  '077–123–4567',
  '077—1234567',
  '077‑123‑4567',
  '077−1234567',
  '077・123・4567',
  '077/1234567',
  '077/123/4567',
  '0771/234567',
  '077／1234567',
  '077,1234567',
  '077\t1234567',
  '0771234567,',
  '0771234567;',
  '0771234567/',
  ', 0771234567',
  '0771234567.',
  '0771234567 ext 12',
  '0771234567 ext. 12',
  '0771234567x12',
  '0771234567 extension 1234',
  '0771234567 #12',
  '0771234567 (office)',
  '0771234567 (Kamal)',
  'Mobile: 0771234567',
  'Tel 077 123 4567 home',
  'දුරකථන 0771234567',
  'தொலைபேசி 0771234567',
  'tel:+94-77-123-4567',
  'p:+94771234567',
  'https://wa.me/94771234567',
  '="0771234567"',
  "'0771234567",
  '"0771234567"',
  '771234567.0',
  '0771234567,0',
  '📞 0771234567',
  '0️⃣7️⃣7️⃣1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣',
  '٠٧٧١٢٣٤٥٦٧',
  '۰۷۷۱۲۳۴۵۶۷',
  '０７７１２３４５６７',
  '＋９４　７７　１２３　４５６７',
  '০৭৭১২৩৪৫৬৭',
  '०७७१२३४५६७',
  '௦௭௭௧௨௩௪௫௬௭',
  '๐๗๗๑๒๓๔๕๖๗',
  '෦෭෭෧෨෩෪෫෬෭',
  '𝟎𝟕𝟕𝟏𝟐𝟑𝟒𝟓𝟔𝟕',
  '077 ١٢٣ 4567',
]

t.test('every spelling of a number is one person', async t => {
  for (const text of spellings)
    t.strictSame(
      readPhone(text, 'LK'),
      { key: person, number: person.slice(1), holdsMore: false },
      JSON.stringify(text),
    )
})

t.test('a text with digits of two numbers stands for the first, and is no number for a message', async t => {
  for (const text of [
    '0771234567/0719876543',
    '0771234567 / 0112345678',
    '0771234567,0719876543',
    '0771234567;0719876543',
    '0771234567 or 0719876543',
    '0771234567 (home) 0719876543 (office)',
    '0771234567 0719876543',
    '077 123 4567 071 987 6543',
    '+94771234567+94719876543',
    '0771234567/8',
    '0771234567 8',
    '📱0771234567🏠0112345678',
    '0771234567\n0719876543',
    '０７７１２３４５６７／０７１９８７６５４３',
    'NIC 199012345678 Tel 0771234567',
  ]) {
    t.match(readPhone(text, 'LK'), { key: person, holdsMore: true }, JSON.stringify(text))
    t.equal(normalisePhone(text, 'LK'), undefined)
  }
})

t.test('a text without a number is never guessed to have one', async t => {
  for (const [text, key] of [
    ['7.71E+08', '7.71E+08'],
    ['9.4771E+10', '9.4771E+10'],
    ['7,71235E+08', '7,71235E+08'],
    ['077O123456', '077O123456'],
    ['12345', '12345'],
    [' 12-345 ', '12345'],
    ['ask the neighbour', 'ask the neighbour'],
    ['n/a', 'n/a'],
    ['#N/A', '#N/A'],
    ['-', '-'],
    ['', ''],
    ['\u0000\ud800', ''],
    ['0771234567'.repeat(20), '0771234567'.repeat(20)],
  ] as const)
    t.strictSame(readPhone(text, 'LK'), { key, number: undefined, holdsMore: false }, JSON.stringify(text))
})

t.test('the country completes a number without a country code', async t => {
  for (const [text, country, key] of [
    ['81234567', 'SG', '+6581234567'],
    ['+65 8123 4567', 'SG', '+6581234567'],
    ['6581234567', 'LK', '+6581234567'],
    ['9876543210', 'IN', '+919876543210'],
    ['09876543210', 'IN', '+919876543210'],
    ['(415) 555-2671', 'US', '+14155552671'],
    ['1-415-555-2671', 'US', '+14155552671'],
    ['07911 123456', 'GB', '+447911123456'],
    ['030/1234567', 'DE', '+49301234567'],
    ['8 916 123-45-67', 'RU', '+79161234567'],
    ['+298 123456', 'LK', '+298123456'],
    ['+44 7911 123456', 'LK', '+447911123456'],
    ['+55 11 8765 4321', 'BR', '+5511987654321'],
    ['+375 8 29 1234567', 'LK', '+375291234567'],
    ['+375 80 29 1234567', 'BY', '+375291234567'],
    ['+7 812 123 45 67', 'LK', '+78121234567'],
    ['018 95 210101', 'IL', '+95210101'],
    ['41 080 259 07 97', 'CH', '+41802590797'],
    ['+55 11 98765 4321', 'BR', '+5511987654321'],
    ['0771234567', 'XX', '0771234567'],
    ['+94 77 123 4567', 'XX', person],
  ] as const)
    t.equal(readPhone(text, country).key, key, `${text} in ${country}`)
})

const national = fc.integer({ min: 100_000_000, max: 999_999_999 }).map(String)
const country = fc.constantFrom('LK', 'IN', 'SG', 'GB', 'DE', 'US', 'BR', 'AE', 'XX')
const noise = fc.constantFrom('', ' ', '-', '.', '\u00a0', '\u200b', '\u202a', '–', '(', ')', '\u202f', '  ')
const zeros = [0x30, 0x660, 0x6f0, 0xff10, 0x9e6, 0x966, 0xbe6, 0xe50, 0xde6, 0x1d7ce]

t.test('noise between, before and after the digits, and their script, keep the person', async () => {
  const spelt = fc.tuple(
    national,
    fc.constantFrom('0', '', '+94', '94', '0094'),
    fc.array(noise, { minLength: 15, maxLength: 15 }),
    fc.constantFrom(...zeros),
    fc.constantFrom('', ',', ' ext 12', ' (office)', '/', '\u202c'),
  )
  fc.assert(
    fc.property(spelt, ([digits, prefix, noises, zero, end]) => {
      const typed = [...(prefix + digits)].map((character, index) => {
        const shown = character === '+' ? '+' : String.fromCodePoint(zero + Number(character))
        return shown + (noises[index] ?? '')
      })
      return readPhone(typed.join('') + end, 'LK').key === `+94${digits}`
    }),
  )
})

t.test('the key of a key is itself', async () => {
  const pieces = fc.constantFrom(
    '077',
    '1234567',
    '+',
    '94',
    '/',
    ',',
    ' ',
    'x',
    '0',
    '#',
    '(',
    'é',
    '٣',
    '1.5E+9',
    '.0',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 50 }),
    fc.array(pieces, { maxLength: 12 }).map(list => list.join('')),
    fc.stringMatching(/^\+?[0-9]{3,16}$/),
  )
  fc.assert(
    fc.property(text, country, (typed, country) => {
      const { key } = readPhone(typed, country)
      return readPhone(key, country).key === key
    }),
    // 90 is the prefix of a collect call in Brazil.
    {
      numRuns: 5_000,
      examples: [
        ['9060000000', 'BR'],
        ['00550439042622110', 'BR'],
      ],
    },
  )
})

t.test('plain digits are read as the parser reads them', async () => {
  const spelt = fc.stringMatching(/^(\+|0)?[1-9]{7,13}$/)
  fc.assert(
    fc.property(spelt, fc.constantFrom('LK', 'IN', 'SG', 'GB', 'US', 'AE', 'BR', 'RU'), (digits, country) => {
      const parsed = parsePhoneNumberFromString(digits, country)
      return !parsed?.isPossible() || normalisePhone(digits, country) === parsed.number.slice(1)
    }),
    // An Indian number of eleven digits may be one of nine behind the country code.
    { numRuns: 2_000, examples: [['91111111111', 'IN']] },
  )
})

t.test('digits behind the code of any country are read as the parser reads them', async () => {
  const spelt = fc.tuple(
    fc.constantFrom(...getCountries()),
    fc.constantFrom('+', '', 'national'),
    fc.stringMatching(/^[0189]?[0-9]{6,12}$/),
  )
  fc.assert(
    fc.property(spelt, ([country, start, digits]) => {
      const text = start === 'national' ? digits : `${start}${getCountryCallingCode(country)}${digits}`
      // People write 00 everywhere, also where a call abroad begins with other digits.
      if (text.startsWith('00')) return true
      const parsed = parsePhoneNumberFromString(text, country)
      if (!parsed?.isPossible() || parsePhoneNumberFromString(parsed.number)?.number !== parsed.number) return true
      return normalisePhone(text, country) === parsed.number.slice(1)
    }),
    { numRuns: 20_000 },
  )
})

t.test('digits of any script are read', async t => {
  t.equal(readDigits('٣-３ 𝟗'), '339')
})
