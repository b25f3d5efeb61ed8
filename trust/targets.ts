import { revokeTokenById } from '@courier/shared/cli/token-commands.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import * as notifierTokens from '../services/notifier/core/access/token-commands.ts'
import { addTenant, phoneNumberId } from '../services/notifier/test/fixture.ts'
import * as ordersTokens from '../services/orders/core/access/token-commands.ts'
import { applyTenant } from '../services/orders/core/provisioning/apply.ts'
import { batch, order, tenantFile } from '../services/orders/test/tenant.ts'
import { waitUntil } from '../test/courier.ts'
import { bearer, type Courier, countByStatus, measure, startCourier, waitForOutbox, withProbe } from './courier.ts'
import { type OpenApi, type Operation, readOperations } from './document.ts'
import type { TrustOptions } from './promise.ts'
import { createSender, type Headers } from './sender.ts'

export const appSecret = 'trust-app-secret'
export const verifyToken = 'trust-verify-token'
const rivalNumber = '206540352242922'
export const channelPath = `/api/channels/${phoneNumberId}`
/** Describes demo's channel in working order. */
export const demoChannel = {
  name: 'Demo',
  plan: 'paid',
  default: true,
  access_token: 'demo-access-token',
  waba_id: '102290129340398',
  app_secret: appSecret,
  verify_token: verifyToken,
}

/** Describes a service as a process, with its document and the tenants demo and rival. */
export interface Target extends Awaited<ReturnType<typeof createTarget>> {
  /** Returns the headers of a client of demo that may use the operation. */
  readonly headersFor: (operation: Pick<Operation, 'path'>) => Headers
  /** Maps path parameters to values that name resources of demo. */
  readonly names: Readonly<Record<string, string>>
  /** Lists texts that only rows of demo have. */
  readonly marks: readonly string[]
  /** Undoes the changes that requests may have made. */
  readonly repair: () => Promise<unknown>
}

/** Returns true for requests between the services, which carry the service token and no tenant. */
export const isInternal = ({ path }: Pick<Operation, 'path'>): boolean => path.startsWith('/internal')
export const isForStaff = ({ path }: Pick<Operation, 'path'>): boolean => path.startsWith('/api/staff')
/** Returns true for operations that end the token of their request. */
export const endsToken = ({ path }: Pick<Operation, 'path'>): boolean => path.endsWith('/logout')

const createTarget = async (t: TrustOptions, courier: Courier, name: 'orders' | 'notifier') => {
  const service = courier[name]
  const pool = createPool({ url: courier.databases[name].url, name: 'trust', connections: 1 })
  t.teardown(() => pool.end())
  const tokens = name === 'orders' ? ordersTokens : notifierTokens
  const send = createSender(service.url)
  /** Sends a request that must succeed; returns its JSON. */
  const call = async (method: string, path: string, headers: Headers, body?: object) => {
    const { status, text } = await send({ method, path, headers, body: body && JSON.stringify(body) })
    if (status === 0 || status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return JSON.parse(text)
  }
  return {
    pool,
    name,
    operations: readOperations((await call('GET', '/openapi.json', {})) as OpenApi),
    send,
    call,
    /** Returns how many milliseconds the event loop was blocked since the last call, at most the computing time. */
    blockedMs: async () => Math.min(...(await measure(service, 'SIGWINCH'))),
    rows: (text: string, values?: unknown[]) => courier.rows(name, text, values),
    createToken: (holder: object) => tokens.createTokenFor(pool, holder as never),
    revokeToken: (id: string) => revokeTokenById(pool, id),
  }
}

/** Is as many cities as a country has. The short forms that measure nothing have fewer. */
export const manyCities = 2_000
const shortCities = 50

const largeTenant = (count: number) => {
  const file = tenantFile()
  const cities = Array.from({ length: count }, (_, n) => ({ id: 10_000 + n, name: `Grama ${n.toString(36)} Nuwara` }))
  file.states.push({ id: 9, name: 'Uva', cities })
  return file
}

const merchantPath = '/api/public/merchant'
const isForOwners = (path: string): boolean => /^\/api\/public\/merchant\/(person|token)/.test(path)

const createOrdersTarget = async (t: TrustOptions, courier: Courier, cities: number): Promise<Target> => {
  const service = await createTarget(t, courier, 'orders')
  const { pool, call, createToken } = service
  const waybills = { mode: 'auto', format: 'RV########' } as const
  await applyTenant(pool, largeTenant(cities), false)
  await applyTenant(pool, tenantFile({ id: 'rival', name: 'Rival Couriers', waybills }), false)
  const leaving = await createToken({ tenant: 'demo', merchant: 'shop@example.com' })
  const leavingStaff = await createToken({ tenant: 'demo', staff: 'Sunil' })
  const merchant = bearer(courier.tokens.merchant)
  const marked = { customer_name: 'Zebulon Quixote', customer_address: '77 Xylophone Lane' }
  const { data } = await call('POST', `${merchantPath}/order/bulk`, merchant, batch([order(marked)]))
  const [waybill] = data
  // A program may not manage people and tokens.
  const login = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
  const owner = bearer((await call('POST', `${merchantPath}/login`, { 'x-tenant': 'demo' }, login)).token)
  const clerk = { name: 'Xerxes Zebulonson', email: 'xerxes@zebulon.example' }
  await call('POST', `${merchantPath}/person`, owner, { ...clerk, role: 'clerk', password: 'xerxes-zebulon' })
  const url = 'http://127.0.0.1:1/hook-of-zebulon'
  const { id } = (await call('POST', `${merchantPath}/webhook`, merchant, { url })).data
  // Deliveries to an enabled webhook would change rows during the test.
  await call('PATCH', `${merchantPath}/webhook/${id}`, merchant, { state: 'disabled' })
  return {
    ...service,
    headersFor: operation => {
      if (isInternal(operation)) return bearer(courier.orders.environment.SERVICE_TOKEN)
      if (endsToken(operation)) return bearer((isForStaff(operation) ? leavingStaff : leaving).token)
      if (isForOwners(operation.path)) return owner
      return isForStaff(operation) ? bearer(courier.tokens.staff) : merchant
    },
    names: {
      waybill,
      waybill_number: waybill,
      tenant: 'demo',
      id,
      merchant_id: '1',
      phone: '0770000101',
      staff_id: '1',
    },
    marks: [waybill, url, ...Object.values({ ...clerk, ...marked })],
    repair: async () => {},
  }
}

const createNotifierTarget = async (t: TrustOptions, courier: Courier, waybill: string): Promise<Target> => {
  const service = await createTarget(t, courier, 'notifier')
  await addTenant(service.pool, 'rival', rivalNumber, {})
  const staff = bearer(courier.tokens.notifierStaff)
  const change = (method: string, path: string, body: object = {}) => service.call(method, path, staff, body)
  const repair = async (): Promise<void> => {
    // The sends are slow, so that they are not measured.
    await change('PUT', channelPath, { ...demoChannel, messages_per_second: 1 })
    await change('POST', `${channelPath}/resume`)
  }
  await repair()
  await change('POST', '/api/templates/sync')
  // The service's own reads of the account would look like a change by a client.
  await service.rows(`update channels set catalogue_due_at = 'infinity', portfolio_due_at = 'infinity'`)
  const example = service.operations.find(({ id }) => id === 'POST /api/messages')?.example as object
  const send_at = new Date(Date.now() + 86_400_000).toISOString()
  const { data } = await change('POST', '/api/messages', { ...example, waybill_number: waybill, send_at })
  return {
    ...service,
    headersFor: operation => (isInternal(operation) ? bearer(courier.notifier.environment.SERVICE_TOKEN) : staff),
    names: { id: data.id, phone_number_id: phoneNumberId, phone: '94770000101', waybill_number: waybill, waybill },
    // The number is not a mark: any company may add it, since only its access token lets it send.
    marks: [data.id, waybill],
    repair,
  }
}

const many = '1000000000'

/** Starts both services, without limits that would refuse a request unread. Waits until a message has left. */
export const startTargets = async (t: TrustOptions, cities = t.short ? shortCities : manyCities) => {
  const logins = { LOGIN_TRIES_PER_EMAIL: many, LOGIN_TRIES_PER_ADDRESS: many, PUBLIC_RATE_LIMIT_PER_MINUTE: many }
  const courier = await startCourier(t, {
    orders: { ...withProbe, ...logins },
    notifier: withProbe,
    simulator: { WEBHOOK_URL: 'none' },
  })
  const orders = await createOrdersTarget(t, courier, cities)
  await waitForOutbox(courier)
  const notifier = await createNotifierTarget(t, courier, orders.names.waybill ?? '')
  const isOver = ({ accepted = 0 }: Record<string, number>) => accepted > 0
  await waitUntil('the message about the order has left', () => countByStatus(courier), isOver)
  return { orders, notifier }
}
