import t from 'tap'
import { CityIndex } from '../../core/places/cities.ts'
import { isClearAddress } from './clear-address.ts'

const [western, southern] = [
  { id: 1, name: 'Colombo' },
  { id: 2, name: 'Galle' },
]
const colombo7 = { id: 7, name: 'Colombo 07', postalCode: '00700', state: western, aliases: ['Cinnamon Gardens'] }
const galle = { id: 10, name: 'Galle', postalCode: '80000', state: southern, aliases: ['ගාල්ල', 'காலி'] }
const cities = new CityIndex(
  [western, southern],
  [
    colombo7,
    { id: 3, name: 'Colombo 03', postalCode: '00300', state: western, aliases: ['Kollupitiya'] },
    { id: 8, name: 'Kotte', postalCode: '10100', state: western },
    galle,
    { id: 11, name: 'Matara', postalCode: '81000', state: southern, aliases: ['මාතර', 'மாத்தறை'] },
  ],
)

t.test('a house number and a street are clear, also with the own city, state or postal code', async t => {
  for (const text of [
    ...['7 Beach Road', ' No. 7, Beach Road. ', '12/3A Lake Road', '12 B, 5th Lane', 'No: 4 Sri Sumana Mawatha'],
    ...['12 Galle Road', '12 Matara Road', '9 Main Street', '7 Beach Road, Galle', '7 Beach Road\nGalle 80000'],
    ...['12 ගාලු පාර', '12 කොළඹ පාර, ගාල්ල', '12 காலி வீதி', '12 கோவில் தெரு, காலி', '7 beach rd GALLE'],
  ])
    t.equal(isClearAddress(text, galle, cities), true, text)
  for (const text of ['12 Lake Road, Colombo 7', '12 Lake Road, Colombo, 07', '12 Lake Road, Colombo 00700'])
    t.equal(isClearAddress(text, colombo7, cities), true, text)
})

t.test('another place, in any spelling and script, is not clear', async t => {
  for (const text of [
    ...['7 Beach Road, Matara', '7 Beach Road Matara', '7 Beach Road, Mathara', '7 Beach Road, Galle, Matara'],
    ...['Matara, 7 Beach Road', '7 Matara Lake Road', '7 Beach Road, 81000', '7 Beach Road, Colombo', '7 වෙරළ පාර, මාතර'],
    ...['7 காலி வீதி, மாத்தறை', '7 Beach Road, Timbuktu', '7 Beach Road - Matara', '7 Beach Road (Matara)'],
  ])
    t.equal(isClearAddress(text, galle, cities), false, text)
  for (const text of [
    '12 Lake Road, Colombo 3',
    '12 Lake Road, Kollupitiya',
    '12 Lake Road, 00300',
    '12 Lake Road, Kotte',
  ])
    t.equal(isClearAddress(text, colombo7, cities), false, text)
  t.equal(
    isClearAddress('1 Lake Road, Colombo', { ...colombo7, id: 8, name: 'Kotte' }, cities),
    false,
    'not its district',
  )
})

t.test('a phone number, a remark, and all else that is not address, is not clear', async t => {
  for (const text of [
    ...[
      '7 Beach Road 0771234567',
      '7 Beach Road, 077 123 4567',
      '0771234567, 7 Beach Road',
      '077 123 45 67 Beach Road',
    ],
    ...[
      '7 Beach Road ௦௭௭',
      '7 Beach Road ٠٧٧١٢٣',
      '７ Beach Road ０７７１２３４５６７',
      '7 Beach Road please',
      'Hi, 7 Beach Road',
    ],
    ...[
      '7 Beach Road, thank you',
      'please bring it to 7 Beach Road',
      '7 Beach Road 🙏',
      '7 Beach Road?',
      '7 Beach Road ස්තූතියි',
    ],
    ...[
      '7 Beach Road நன்றி',
      '7 Beach Road, call before',
      'same address',
      'Galle',
      'Colombo 7',
      '80000',
      '',
      '7',
      'Beach Road',
    ],
    ...[
      'ok who is this?',
      'Home, 1 Lake Road (6.9, 79.85)',
      '7 Beach Road, 8 Lake Road',
      `7 Beach Road${' '.repeat(300)}`,
    ],
    ...['7 Beach Road, near the temple', `7 Beach Road ${'ﷺ'.repeat(60)} Matara`, 'x'.repeat(500)],
  ])
    t.equal(isClearAddress(text, galle, cities), false, text)
  t.equal(isClearAddress('Colombo 7', colombo7, cities), false)
})
