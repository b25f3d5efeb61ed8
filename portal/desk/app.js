import { callOrders, listServed } from '../kit/api.js'
import { Failures } from '../kit/failures.js'
import { t } from '../kit/i18n.js'
import { lazy } from '../kit/lazy.js'
import { html } from '../kit/preact.js'
import { getSession, may } from '../kit/session.js'
import { show } from '../kit/shell.js'
import { Orders } from './screens/orders.js'
import { Parcel } from './screens/parcel.js'

const screens = {
  upload: { Screen: lazy(async () => (await import('./upload/upload.js')).Upload) },
  book: { Screen: lazy(async () => (await import('./screens/book.js')).Book) },
  orders: { Screen: Orders },
  parcel: { Screen: Parcel, isHidden: true },
  failures: {
    Screen: props => html`<${Failures} ...${props} mayDecide=${may('instructOrder')} />`,
    needs: 'listFailedDeliveries',
  },
  pickups: {
    Screen: lazy(async () => (await import('./screens/pickups.js')).Pickups),
    needs: 'listPickups',
  },
  money: { Screen: lazy(async () => (await import('./screens/money.js')).Money), needs: 'getBalance' },
  shops: { Screen: lazy(async () => (await import('./screens/shops.js')).Shops), needs: 'listShops' },
  webhooks: {
    Screen: lazy(async () => (await import('./screens/webhooks.js')).Webhooks),
    needs: 'listWebhooks',
  },
  agent: { Screen: lazy(async () => (await import('./screens/agent.js')).Agent), needs: 'decideAgent', isHidden: true },
  access: {
    Screen: lazy(async () => (await import('./screens/access.js')).Access),
    needs: 'listTokens',
    title: () => t(may('listPeople') ? 'menu.access' : 'access.programs'),
  },
}

/** Lists the operations that clerks may not use and that decide what the desk shows. */
const forOwners = ['listWebhooks', 'listTokens', 'addShop', 'approveOwnInvoice', 'disputeInvoice']

const readMe = async (options = {}) => {
  const { merchant: of, person, email, role, tenant: company } = (await callOrders('/user/get-current', options)).data
  // The session names the company as the person typed it.
  const tenant = { ...company, id: getSession().tenant, name: of.name }
  const operations = listServed().filter(each => role === 'owner' || !forOwners.includes(each))
  return { name: person?.name ?? '', email, role, operations, tenant }
}

await show({ screens, readMe })
