import { orders, readSettings } from '../kit/api.js'
import { getLanguage, languages, readLanguage, setLanguage, t } from '../kit/i18n.js'
import { html, render, useEffect, useLayoutEffect, useRef, useState } from '../kit/preact.js'
import { changeSession, may, useSession } from '../kit/session.js'
import { SignIn } from '../kit/sign-in.js'
import { instead } from '../kit/ui.js'
import { waybillIn } from './scan-list.js'
import { Cash } from './screens/cash.js'
import { Channels } from './screens/channels.js'
import { Conversations } from './screens/conversations.js'
import { Failures } from './screens/failures.js'
import { Find } from './screens/find.js'
import { Gaps } from './screens/gaps.js'
import { Invoices } from './screens/invoices.js'
import { Merchants } from './screens/merchants.js'
import { Messages } from './screens/messages.js'
import { Orders } from './screens/orders.js'
import { Parcel } from './screens/parcel.js'
import { Scan } from './screens/scan.js'
import { Templates } from './screens/templates.js'
import { Today } from './screens/today.js'

/**
 * Screens by the first part of the address after `#/`. `needs` names the operation without which it is not shown;
 * `isHidden` keeps it out of the menu. A screen gets `params` (the other parts) and `query`.
 */
const screens = {
  today: { Screen: Today },
  orders: { Screen: Orders, needs: 'listAllOrders' },
  find: { Screen: Find, needs: 'listAllOrders', isHidden: true },
  parcel: { Screen: Parcel, needs: 'getAnyOrder', isHidden: true },
  failures: { Screen: Failures, needs: 'listAllFailedDeliveries' },
  messages: { Screen: Messages, needs: 'listMessages' },
  conversations: { Screen: Conversations, needs: 'listConversations' },
  scan: { Screen: Scan, needs: 'getAnyOrder' },
  channels: { Screen: Channels, needs: 'listChannels' },
  templates: { Screen: Templates, needs: 'listTemplates' },
  cash: { Screen: Cash, needs: 'getCash' },
  invoices: { Screen: Invoices, needs: 'listAllInvoices' },
  merchants: { Screen: Merchants, needs: 'listMerchants' },
  gaps: { Screen: Gaps, needs: 'listRateGaps' },
}

/** Parses an address such as `#/parcel/DM00000001?x=y`. @param {string} hash */
const readHash = hash => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [name, ...params] = path.split('/').map(part => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  return {
    name: Object.hasOwn(screens, name) ? name : 'today',
    params,
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

const useHash = () => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const listener = () => setHash(location.hash)
    addEventListener('hashchange', listener)
    return () => removeEventListener('hashchange', listener)
  }, [])
  return readHash(hash)
}

const find = instead(event => {
  const text = String(new FormData(event.currentTarget).get('q')).trim()
  if (text) location.hash = `#/find?${new URLSearchParams({ q: waybillIn(text) ?? text })}`
})

const signOut = () => {
  orders('/api/staff/logout', { method: 'POST', body: {} }).catch(() => {})
  changeSession({ token: null, me: null })
}

const Language = ({ onChange }) =>
  html`<select class="quiet" aria-label=${t('language')} value=${getLanguage()} onChange=${event => onChange(event.currentTarget.value)}>
    ${Object.entries(languages).map(([name, label]) => html`<option key=${name} value=${name} lang=${name}>${label}</option>`)}
  </select>`

const Top = ({ me, route, onLanguage }) => html`
  <a class="skip" href="#main" onClick=${instead(() => document.getElementById('main')?.focus())}>${t('skip')}</a>
  <header class="top">
    <strong class="brand">${me.tenant.name}</strong>
    <form role="search" onSubmit=${find}>
      <input name="q" type="search" id="find" key=${route.query.q} defaultValue=${route.query.q ?? ''} placeholder=${t('find.placeholder')}
        aria-label=${t('find.label')} aria-keyshortcuts="/" autocomplete="off" spellcheck=${false} maxlength="300" />
    </form>
    <div class="person"><span>${me.name}</span><${Language} onChange=${onLanguage} />
      <button type="button" class="button quiet" onClick=${signOut}>${t('sign_out')}</button></div>
    <nav aria-label=${t('menu')}>
      ${Object.entries(screens)
        .filter(([, { needs, isHidden }]) => !isHidden && (!needs || may(needs)))
        .map(
          ([name]) =>
            html`<a key=${name} href=${`#/${name}`} aria-current=${name === route.name ? 'page' : undefined}>${t(`menu.${name}`)}</a>`,
        )}
    </nav>
  </header>`

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

/** The screen's heading gets the focus when it opens, so that screen readers announce the screen. */
const Main = ({ route, me }) => {
  const main = useRef(/** @type {any} */ (null))
  const { Screen } = screens[route.name]
  const place = [route.name, ...route.params].join('/')
  const heading = () => main.current.querySelector('h1') ?? main.current
  useLayoutEffect(() => {
    document.title = `${heading().textContent} · ${me.tenant.name}`
  }, [place, route.query.q, getLanguage()])
  useLayoutEffect(() => heading().focus(), [place, route.query.q, me])
  return html`<main id="main" tabindex="-1" ref=${main}><${Screen} key=${place} params=${route.params} query=${route.query} /></main>`
}

const login = '/api/staff/login'
const readMe = async (options = {}) => (await orders('/api/staff/me', options)).data

/** Reads who is signed in before anything is shown. @param {import('../kit/session.js').Session} session */
const useMe = ({ token, me }) => {
  const [error, setError] = useState(/** @type {any} */ (undefined))
  useEffect(() => {
    if (token && !me) readMe().then(me => changeSession({ me }), setError)
  }, [token])
  return error
}

const App = () => {
  const session = useSession()
  const route = useHash()
  const [, setShown] = useState(getLanguage())
  const error = useMe(session)
  const { token, me } = session
  useShortcut()
  const onLanguage = (/** @type {string} */ name) => setLanguage(name).then(() => setShown(name))
  if (!me)
    return html`<${SignIn} login=${login} readMe=${readMe} error=${token && error} isOpening=${Boolean(token) && !error}><${Language} onChange=${onLanguage} /><//>`
  // The open screen stays behind the form until somebody else signs in.
  return html`
    ${!token && html`<${SignIn} login=${login} readMe=${readMe} isExpired><${Language} onChange=${onLanguage} /><//>`}
    <div key=${`${me.tenant.id} ${me.name} ${me.email}`} class="console" hidden=${!token}>
      <${Top} me=${me} route=${route} onLanguage=${onLanguage} />
      <${Main} route=${route} me=${me} />
    </div>`
}

await Promise.all([readSettings(), setLanguage(readLanguage())])
render(html`<${App} />`, /** @type {Element} */ (document.getElementById('app')))
document.getElementById('late')?.remove()
