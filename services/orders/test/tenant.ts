import type { TenantFile } from '../core/provisioning/tenant-file.ts'

/**
 * Returns a small tenant: metro is Kotte (1500) and Dehiwala (1501), outstation Galle (2100) and Hikkaduwa (2101);
 * Jaffna (3000) has a zone of its own to which no rate leads. Lanka Shoes has the card; Ceylon Books has none.
 * `settings` may have fields of capabilities.
 */
export const tenantFile = (settings: Partial<TenantFile['tenant']> & Record<string, unknown> = {}): TenantFile => ({
  tenant: {
    id: 'demo',
    name: 'Demo Couriers',
    currency: 'LKR',
    country: 'LK',
    time_zone: 'Asia/Colombo',
    waybills: { mode: 'auto', format: 'DM########' },
    secondary_phone: true,
    ...settings,
  },
  states: [
    {
      id: 1,
      name: 'Colombo',
      cities: [
        { id: 1500, name: 'Kotte', postal_code: '10100' },
        { id: 1501, name: 'Dehiwala', postal_code: '10350' },
      ],
    },
    {
      id: 2,
      name: 'Galle',
      cities: [
        { id: 2100, name: 'Galle' },
        { id: 2101, name: 'Hikkaduwa' },
      ],
    },
    { id: 3, name: 'Jaffna', cities: [{ id: 3000, name: 'Jaffna' }] },
  ],
  rate_cards: [
    {
      name: 'standard',
      zones: { metro: [1500, 1501], north: [3000], outstation: '*' },
      rates: [
        { from: 'metro', to: 'metro', first_kg: 300, each_extra_kg: 50 },
        { from: 'metro', to: 'outstation', first_kg: 450, each_extra_kg: 90.5 },
      ],
    },
  ],
  merchants: [
    {
      name: 'Lanka Shoes',
      email: 'shop@example.com',
      password: 'lanka-shoes-demo',
      rate_card: 'standard',
      businesses: [
        { id: 7290, name: 'Lanka Shoes Online', default: true },
        { id: 7291, name: 'Lanka Shoes Outlet' },
      ],
    },
    {
      name: 'Ceylon Books',
      email: 'books@example.com',
      password: 'ceylon-books-demo',
      businesses: [{ id: 7300, name: 'Ceylon Books', default: true }],
    },
  ],
})

/** Gives all merchants of the file the card. */
export const withCards = (file = tenantFile()): TenantFile => {
  for (const merchant of file.merchants) merchant.rate_card = 'standard'
  return file
}

/** Holds the tenants of which each run keeps a database to clone, since passwords take long to hash. */
export const demoFiles = { plain: tenantFile(), cards: withCards() }

/** Lists statuses in which one move cancels, delivers (in part, too) or returns a confirmed order. */
export const shortStatuses = [
  { key: 'key_1', moves: ['key_2'] },
  { key: 'key_2', moves: ['key_3', 'key_13', 'key_14', 'key_21'] },
  { key: 'key_3', moves: [] },
  { key: 'key_13', moves: [] },
  { key: 'key_14', moves: [] },
  { key: 'key_21', moves: [] },
]

/** Returns a correct order to Galle; `fields` replace its fields or add to them. */
export const order = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  customer_name: 'Nimali Perera',
  customer_address: '12 Temple Road, Galle',
  customer_phone: '0770000101',
  destination_city_id: 2100,
  cod: 4500,
  weight: 1.2,
  ...fields,
})

/** Holds what the notifier gets about that order of Lanka Shoes, but for what changes or has an address. */
export const snapshot = {
  order_no: null,
  customer_name: 'Nimali Perera',
  customer_phone: '0770000101',
  business_name: 'Lanka Shoes Online',
  merchant_name: 'Lanka Shoes',
  origin_city: 'Kotte',
  destination_city: 'Galle',
  destination_state: 'Galle',
  cod: 4500,
  currency: 'LKR',
  weight: 1.2,
  description: null,
  delivery_charge: 540.5,
  is_final: false,
  time_zone: 'Asia/Colombo',
}

/** Returns a batch of Lanka Shoes, from Kotte. */
export const batch = (orders: unknown[] = [order()], general: Record<string, unknown> = {}) => ({
  general_data: { merchant_business_id: '7290', origin_city_id: '1500', ...general },
  order_data: orders,
})
