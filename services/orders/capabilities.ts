import type { Listed } from '@courier/shared/capabilities.ts'
import type { Capabilities, Capability } from './capability.ts'
import type { CompanyFile } from './core/provisioning/company-part.ts'

interface OrdersCapability extends Listed<Capability> {
  /** Names its fields of the company file, which are skipped when it is left out. */
  readonly companyFields?: readonly string[]
}

const moneyFields = [
  ...['tax_percent', 'withholding_percent', 'money', 'postal_address', 'tax_number'].map(field => `tenant.${field}`),
  ...['cod_fee_percent', 'cod_fee_min', 'return_fee', 'each_return_kg'].map(field => `rate_cards.*.${field}`),
  ...['postal_address', 'tax_number'].map(field => `merchants.*.${field}`),
  ...['payable_when', 'payable_after_days', 'charges_apart', 'phone'].map(field => `merchants.*.${field}`),
]

/** Lists the capabilities. ORDERS_CAPABILITIES leaves some out; removing a row and its folder removes one for good. */
export const capabilities = {
  people: { load: async () => (await import('./capabilities/people/capability.ts')).people },
  labels: { load: async () => (await import('./capabilities/labels/capability.ts')).labels },
  'tracking-page': {
    load: async () => (await import('./capabilities/tracking-page/capability.ts')).trackingPage,
    companyFields: ['tenant.color'],
  },
  money: {
    load: async () => (await import('./capabilities/money/capability.ts')).money,
    needs: ['labels'],
    companyFields: moneyFields,
  },
  books: { load: async () => (await import('./capabilities/books/capability.ts')).books, needs: ['money'] },
  editing: { load: async () => (await import('./capabilities/editing/capability.ts')).editing },
  failures: {
    load: async () => (await import('./capabilities/failures/capability.ts')).failures,
    needs: ['editing'],
    companyFields: ['tenant.failed_deliveries'],
  },
  'customer-actions': {
    load: async () => (await import('./capabilities/customer-actions/capability.ts')).customerActions,
    needs: ['editing', 'failures'],
  },
  feed: { load: async () => (await import('./capabilities/feed/capability.ts')).feed },
  reports: { load: async () => (await import('./capabilities/reports/capability.ts')).reports },
  'rate-gaps': { load: async () => (await import('./capabilities/rate-gaps/capability.ts')).rateGaps },
  agents: { load: async () => (await import('./capabilities/agents/capability.ts')).agents },
  restoring: { load: async () => (await import('./capabilities/restoring/capability.ts')).restoring },
} as const satisfies Readonly<Record<string, OrdersCapability>>

export const createCompanyFile = (loaded: Capabilities): CompanyFile => ({
  parts: [...loaded.values()].flatMap(({ company }) => company ?? []),
  leftOut: Object.entries<OrdersCapability>(capabilities).flatMap(([name, { companyFields = [] }]) =>
    loaded.has(name) ? [] : companyFields,
  ),
})
