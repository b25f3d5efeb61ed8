import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { RateCard } from '../core/catalogue/rate-card.ts'
import { WaybillFormat } from '../core/catalogue/waybill-format.ts'
import { CityIndex } from '../core/places/cities.ts'
import type { City } from '../core/places/city.ts'

const states = ['Colombo', 'Galle', 'Jaffna'].map((name, index) => ({ id: index + 1, name }))
const [colombo, galle, jaffna] = states as [City['state'], City['state'], City['state']]
const cities: City[] = [
  { id: 1500, name: 'Kotte', postalCode: '10100', state: colombo },
  { id: 2100, name: 'Galle', postalCode: null, state: galle },
  { id: 3000, name: 'Jaffna', postalCode: null, state: jaffna },
  { id: 3001, name: 'Nallur', postalCode: null, state: jaffna },
]
const card = new RateCard({
  name: 'standard',
  zones: [
    [0, 'metro', false],
    [1, 'north', false],
    [2, 'outstation', true],
  ],
  cities: [
    [1500, 'metro'],
    [3000, 'north'],
    [3001, 'north'],
  ],
  rates: [
    ['metro', 'metro', 300, 50],
    ['metro', 'outstation', 450, 90.5],
  ],
})

/**
 * Returns a catalogue that no database has: Kotte (1500), Galle (2100), and Jaffna and Nallur (3000, 3001), to which no
 * rate leads. Merchant `shoes` has businesses 7290 and 7291 and a card; `books` has 7300 and no card.
 */
export const plainCatalogue = (more: Partial<Catalogue> = {}): Catalogue => ({
  tenant: 'demo',
  version: '1',
  company: 'Demo Couriers',
  contact: null,
  color: null,
  currency: 'LKR',
  country: 'LK',
  timeZone: 'Asia/Colombo',
  linkKeys: ['key'],
  waybills: { mode: 'auto', format: new WaybillFormat('DM##') },
  secondaryPhone: true,
  checks: { phone: null, duplicate: null, unusual: null },
  cities: new CityIndex(states, cities),
  rateCards: new Map([['shoes', card]]),
  bookingRefusals: new Map(),
  merchantOfBusiness: new Map([
    ['7290', 'shoes'],
    ['7291', 'shoes'],
    ['7300', 'books'],
  ]),
  statuses: new Map(),
  names: { merchants: new Map(), businesses: new Map(), cities: new Map() },
  ...more,
})
