import t from 'tap'
import { readDocuments } from '../dev/openapi.ts'
import { build as buildNotifier } from '../services/notifier/test/portal.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { keyRefusal } from '../shared/edge/idempotency.ts'

const notifier = await buildNotifier(t)
const orders = await buildOrders(t)

/** Lists the operations that ignore a key: they only read, log in or out, or serve systems other than clients. */
const ignoring: Record<string, string[]> = {
  orders: [
    ...['resolvePlaces', 'quoteOrders', 'lookUpOrders', 'printLabels', 'printAnyLabels', 'printRunSheet'],
    ...['trackOrderByPost', 'getFinanceStatusByPost', 'trackParcel', 'findStaffTokens', 'actForCustomers'],
    'receiveShopOrder',
    ...['logIn', 'logInStaff', 'logOut', 'logOutStaff'],
  ],
  notifier: ['preflightMessages', 'acceptWebhook', 'acceptEvents'],
}

const isWriting = (method: string): boolean => ['post', 'put', 'patch', 'delete'].includes(method)

const owner = { email: 'shop@example.com', password: 'lanka-shoes-demo' }

/** Returns a token for one request, since logging out ends a token. Owners who log in may do more than programs. */
const getToken = async (name: string, path: string): Promise<string> => {
  if (name === 'notifier') return notifier.token
  if (path.startsWith('/api/staff'))
    return (await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Ruwan' })).token
  const url = '/api/public/merchant/login'
  return (await orders.app.inject({ method: 'POST', url, headers: { 'x-tenant': 'demo' }, payload: owner })).json()
    .token
}

/** Returns the errors of a request with a key. */
const findErrors = async (name: string, method: string, path: string): Promise<object> => {
  const { app } = name === 'orders' ? orders : notifier
  const response = await app.inject({
    method: method as 'POST',
    url: path.replaceAll(/\{.*?\}/g, crypto.randomUUID()),
    headers: {
      authorization: `Bearer ${await getToken(name, path)}`,
      'x-tenant': 'demo',
      'idempotency-key': 'again',
      'content-type': 'application/json',
    },
    payload: '{}',
  })
  return response.json().errors ?? {}
}

for (const [name, { paths, info }] of Object.entries(await readDocuments()))
  t.test(`${name}: every writing operation, except the listed ones, honours or refuses an Idempotency-Key`, async t => {
    t.match(info.description, /Idempotency-Key/)
    const kinds: Record<string, string[]> = { keyed: [], refusing: [], ignoring: [] }
    for (const [path, operations] of Object.entries(paths))
      for (const [method, { operationId = '', parameters = [], description = '' }] of Object.entries(operations)) {
        if (!isWriting(method)) continue
        const isKeyed = parameters.some(({ name }) => name === 'Idempotency-Key')
        const isRefusing = description.includes(keyRefusal)
        kinds[isKeyed ? 'keyed' : isRefusing ? 'refusing' : 'ignoring']?.push(operationId)
        if (isKeyed) continue
        const errors = await findErrors(name, method, path)
        t.equal('idempotency-key' in errors, isRefusing, `${operationId} ${JSON.stringify(errors)}`)
      }
    t.strictSame(new Set(kinds.ignoring), new Set(ignoring[name]))
    t.ok(kinds.keyed?.length && kinds.refusing?.length)
    t.comment(kinds)
  })
