import { own } from '../kit/api.js'
import { Failures } from '../kit/failures.js'
import { getSession } from '../kit/session.js'
import { show } from '../kit/shell.js'
import { Access } from './screens/access.js'
import { Book } from './screens/book.js'
import { Money } from './screens/money.js'
import { Orders } from './screens/orders.js'
import { Parcel } from './screens/parcel.js'
import { Webhooks } from './screens/webhooks.js'
import { Upload } from './upload/upload.js'

const screens = {
  upload: { Screen: Upload },
  book: { Screen: Book },
  orders: { Screen: Orders },
  parcel: { Screen: Parcel, isHidden: true },
  failures: { Screen: Failures },
  money: { Screen: Money },
  webhooks: { Screen: Webhooks, needs: 'listWebhooks' },
  access: { Screen: Access, needs: 'listTokens' },
}

/** Lists the operations that clerks may not use and that decide what the desk shows. */
const operationsOfOwners = ['listWebhooks', 'listTokens', 'approveOwnInvoice']

const readMe = async (options = {}) => {
  const { merchant: of, person, email, role, tenant: company } = (await own('/user/get-current', options)).data
  // The session names the company as the person typed it.
  const tenant = { ...company, id: getSession().tenant, name: of.name }
  return { name: person?.name ?? '', email, role, operations: role === 'owner' ? operationsOfOwners : [], tenant }
}

await show({ screens, readMe })
