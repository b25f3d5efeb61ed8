// Reads the order exports of web shops, which their headings give away. Several rows of one order are one parcel, a
// paid order is prepaid, and a cancelled one is left out.
import { readMoney } from './numbers.js'

/**
 * Describes an export. A field lists headings of which the first with a value counts; `+` joins two headings. `sides`
 * are the receiver and, where an order without a shipping address goes to the billing address, the payer.
 * @typedef {{ name: string, needs: string[], order: string[], sides: Record<string, string[]>[], items: string[][],
 *   email: string[], remark: string[], states: string[], due?: string[], total: string[], refund?: string[],
 *   payment?: string[], unpaid?: RegExp, method?: string[] }} Export
 */
const paidStates = /^(processing|completed?|shipped|delivered|awaiting (fulfillment|shipment|pickup))$/i
const stopped = /cancel|void|declined|^refunded|failed|trash/i
const cash = /\bcash\b|\bcod\b|c\.o\.d|on delivery/i

/** @type {readonly Export[]} */
const known = [
  {
    name: 'Shopify',
    needs: ['name', 'financial status', 'lineitem name', 'shipping name', 'total'],
    order: ['name'],
    sides: [
      {
        customer_name: ['shipping name'],
        customer_address: ['shipping street', 'shipping address1+shipping address2'],
        destination: ['shipping city'],
        customer_phone: ['shipping phone'],
      },
      { customer_phone: ['billing phone', 'phone'] },
    ],
    items: [['lineitem quantity'], ['lineitem name']],
    email: ['email'],
    remark: ['notes'],
    states: ['cancelled at', 'canceled at', 'financial status'],
    due: ['outstanding balance'],
    total: ['total'],
    payment: ['financial status'],
    unpaid: /^pending$/i,
  },
]
