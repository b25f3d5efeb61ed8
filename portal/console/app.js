import { instead } from '../kit/actions.js'
import { callOrders, listServed } from '../kit/api.js'
import { t } from '../kit/i18n.js'
import { html, useEffect } from '../kit/preact.js'
import { show } from '../kit/shell.js'
import { findWaybill } from '../kit/waybill.js'
import { Audit } from './screens/audit.js'
import { Bank } from './screens/bank.js'
import { Cash } from './screens/cash.js'
import { Channels } from './screens/channels.js'
import { Conversations } from './screens/conversations.js'
import { Corrections } from './screens/corrections.js'
import { Failures } from './screens/failures.js'
import { Find } from './screens/find.js'
import { Gaps } from './screens/gaps.js'
import { Invoices } from './screens/invoices.js'
import { Merchants } from './screens/merchants.js'
import { Messages } from './screens/messages.js'
import { Orders } from './screens/orders.js'
import { Parcel } from './screens/parcel.js'
import { Payouts } from './screens/payouts.js'
import { People } from './screens/people.js'
import { Pickups } from './screens/pickups.js'
import { Riders } from './screens/riders.js'
import { Scan } from './screens/scan.js'
import { Templates } from './screens/templates.js'
import { Today } from './screens/today.js'

const screens = {
  today: { Screen: Today },
  orders: { Screen: Orders, needs: 'listAllOrders' },
  find: { Screen: Find, needs: 'listAllOrders', isHidden: true },
  parcel: { Screen: Parcel, needs: 'getAnyOrder', isHidden: true },
  failures: { Screen: Failures, needs: 'listAllFailedDeliveries' },
  messages: { Screen: Messages, needs: 'listMessages' },
  conversations: { Screen: Conversations, needs: 'listConversations' },
  scan: { Screen: Scan, needs: 'getAnyOrder' },
  pickups: { Screen: Pickups, needs: 'listAllPickups' },
  riders: { Screen: Riders, needs: 'listRiders' },
  channels: { Screen: Channels, needs: 'listChannels' },
  templates: { Screen: Templates, needs: 'listTemplates' },
  cash: { Screen: Cash, needs: 'getCash' },
  invoices: { Screen: Invoices, needs: 'listAllInvoices' },
  payouts: { Screen: Payouts, needs: 'getPayRun' },
  bank: { Screen: Bank, needs: 'listBankEntries' },
  corrections: { Screen: Corrections, needs: 'listCorrections' },
  audit: { Screen: Audit, needs: 'listAudit' },
  merchants: { Screen: Merchants, needs: 'listMerchants' },
  gaps: { Screen: Gaps, needs: 'listRateGaps' },
  people: { Screen: People, needs: 'listMySessions' },
}

const find = instead(event => {
  const text = String(new FormData(event.currentTarget).get('q')).trim()
  if (text) location.hash = `#/find?${new URLSearchParams({ q: findWaybill(text) ?? text })}`
})

/** Moves the focus to the search field on `/`, except from within another field. */
const useShortcut = () =>
  useEffect(() => {
    const listener = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target)
      if (event.key !== '/' || event.ctrlKey || event.metaKey || target.matches('input, textarea, select')) return
      event.preventDefault()
      const field = /** @type {HTMLInputElement | null} */ (document.getElementById('find'))
      field?.focus()
      field?.select()
    }
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [])

const Search = ({ query }) => {
  useShortcut()
  return html`<form role="search" onSubmit=${find}>
    <input name="q" type="search" id="find" key=${query.q} defaultValue=${query.q ?? ''}
      placeholder=${t('find.placeholder')}
      aria-label=${t('find.label')} aria-keyshortcuts="/" autocomplete="off" spellcheck=${false} maxlength="300" />
  </form>`
}

const readMe = async (options = {}) => {
  const { operations, ...me } = (await callOrders('/me', options)).data
  return { ...me, operations: operations.filter(each => listServed().includes(each)) }
}

await show({ screens, readMe, Search })
