import { CourierEvents } from '@courier/shared/contract/order-events.ts'

const orderEvents = {
  tags: ['internal'],
  operationId: 'orderEvents',
  summary: 'Report what happened to orders, and paid invoices',
  description: 'Orders sends events to the notifier until it responds with 200. Events may repeat: each keeps its id.',
  security: [{ service: [] }],
  requestBody: { required: true, content: { 'application/json': { schema: CourierEvents } } },
  responses: {
    200: { description: 'Acknowledged: these events are not sent again.' },
    '4XX': { description: 'The events are sent again.' },
  },
}

/** Describes the service as a whole in /openapi.json and /docs; `sent` are requests that capabilities send. */
export const describeApi = (sent: Record<string, object>) => ({
  title: 'Courier orders',
  description:
    'Merchants push delivery orders in batches and get waybill numbers back. ' +
    'All paths below /api/public/merchant are also served below /api/merchant.',
  tags: [
    { name: 'merchant', description: 'Login, tokens and people of a merchant, and the lists that it chooses from.' },
    { name: 'orders', description: 'The orders of a merchant. Each request carries a bearer token and X-tenant.' },
    { name: 'webhooks', description: 'Addresses where a merchant gets events (docs/merchants/webhooks.md).' },
    { name: 'agents', description: "Tools for a merchant's agents (docs/merchants/agents.md)." },
    { name: 'public', description: 'Requests for anyone who knows a waybill number, without a token.' },
    { name: 'staff', description: "Requests for the courier's staff, with a staff token." },
    { name: 'internal', description: 'Requests between orders and the notifier.' },
  ],
  audiences: [
    {
      name: 'merchants',
      title: 'For merchants',
      description:
        'Your program logs in, reads the cities once, and pushes its orders in batches of up to 1,000. ' +
        'The tenant is the courier company that you ship with: it gives you its id, your e-mail address and a password.',
      tags: ['orders', 'merchant', 'webhooks', 'agents', 'public'],
      quickStart: `# A token, valid for 30 days
curl -sS '$URL/api/public/merchant/login' \\
  -H 'X-tenant: demo' -H 'Content-Type: application/json' \\
  --data '{"email": "shop@example.com", "password": "lanka-shoes-demo"}'

# A batch that is checked and priced; without dry_run=true it is booked
curl -sS '$URL/api/public/merchant/order/bulk?dry_run=true' \\
  -H 'Authorization: Bearer TOKEN' -H 'X-tenant: demo' -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: 2026-02-19-1' --data @examples/batch.json`,
    },
    {
      name: 'staff',
      title: 'For staff',
      description: 'The orders of all merchants of the courier company, and the moves from one status to the next.',
      tags: ['staff'],
      quickStart: `# A token for both services, valid for 12 hours
curl -sS '$URL/api/staff/login' -H 'X-tenant: demo' -H 'Content-Type: application/json' \\
  --data '{"email": "admin@courier.example", "password": "courier-demo"}'

curl -sS '$URL/api/staff/order?per_page=5' -H 'Authorization: Bearer TOKEN' -H 'X-tenant: demo'`,
    },
    {
      name: 'internal',
      title: 'Internal',
      description: 'Requests between the services, and the health and metrics that an operator watches.',
      tags: ['internal', 'operations'],
    },
  ],
  pages: [
    ...['agents', 'integration', 'contract', 'bulk-call', 'places', 'editing', 'errors', 'tracking', 'changes'],
    'webhooks',
    'shops',
  ].map(page => `merchants/${page}`),
  webhooks: { orderEvents: { post: orderEvents }, ...sent },
})
