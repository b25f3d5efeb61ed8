import { orders } from '../kit/api.js'
import { getLanguage, languages, readLanguage, setLanguage, t } from '../kit/i18n.js'
import { html, render, useEffect, useLayoutEffect, useRef, useState } from '../kit/preact.js'
import { changeSession, getSession, useSession } from '../kit/session.js'
import { SignIn } from '../kit/sign-in.js'
import { instead } from '../kit/ui.js'
import { merchant } from './merchant.js'
import { Access } from './screens/access.js'
import { Book } from './screens/book.js'
import { Failures } from './screens/failures.js'
import { Money } from './screens/money.js'
import { Orders } from './screens/orders.js'
import { Parcel } from './screens/parcel.js'
import { Upload } from './screens/upload.js'
import { Webhooks } from './screens/webhooks.js'

/** Screens by the first part of the address after `#/`. `isHidden` keeps one out of the menu, `ofOwners` out of that of clerks. */
const screens = {
  upload: { Screen: Upload },
  book: { Screen: Book },
  orders: { Screen: Orders },
  parcel: { Screen: Parcel, isHidden: true },
  failures: { Screen: Failures },
  money: { Screen: Money },
  webhooks: { Screen: Webhooks, ofOwners: true },
  access: { Screen: Access, ofOwners: true },
}

const readHash = () => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [name, param = ''] = path.split('/').map(decodeURIComponent)
  const query_ = Object.fromEntries(new URLSearchParams(query))
  return { name: Object.hasOwn(screens, name) ? name : 'upload', param, query: query_ }
}

const useRoute = () => {
  const [route, setRoute] = useState(readHash)
  useEffect(() => {
    const listener = () => setRoute(readHash())
    addEventListener('hashchange', listener)
    return () => removeEventListener('hashchange', listener)
  }, [])
  return route
}

const readMe = async (options = {}) => {
  const { data } = await merchant('/user/get-current', options)
  const { tenant: id } = getSession()
  const tenant = {
    id,
    name: id,
    currency: '',
    country: '',
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
  const { merchant: of, person, email, role } = data
  return { name: of.name, person: person?.name, email, role, operations: [], tenant }
}

const signOut = () => {
  orders('/api/public/merchant/logout', { method: 'POST', body: {} }).catch(() => {})
  changeSession({ token: null, me: null })
}

const Language = ({ onChange }) =>
  html`<select class="quiet" aria-label=${t('language')} value=${getLanguage()} onChange=${event => onChange(event.currentTarget.value)}>
    ${Object.entries(languages).map(([name, label]) => html`<option key=${name} value=${name} lang=${name}>${label}</option>`)}
  </select>`

const Top = ({ me, route, onLanguage }) => html`
  <a class="skip" href="#main" onClick=${instead(() => document.getElementById('main')?.focus())}>${t('skip')}</a>
  <header class="top">
    <strong class="brand">${me.name}</strong>
    <div class="person">${me.person && html`<span>${me.person}</span>`}<${Language} onChange=${onLanguage} />
      <button type="button" class="button quiet" onClick=${signOut}>${t('sign_out')}</button></div>
    <nav aria-label=${t('menu')}>
      ${Object.entries(screens)
        .filter(([, screen]) => !('isHidden' in screen || ('ofOwners' in screen && me.role !== 'owner')))
        .map(
          ([name]) =>
            html`<a key=${name} href=${`#/${name}`} aria-current=${name === route.name ? 'page' : undefined}>${t(`menu.${name}`)}</a>`,
        )}
    </nav>
  </header>`

const App = () => {
  const { token, me } = useSession()
  const route = useRoute()
  const [, setShown] = useState(getLanguage())
  const [error, setError] = useState(/** @type {any} */ (undefined))
  const main = useRef(/** @type {any} */ (null))
  useEffect(() => {
    if (token && !me) readMe().then(found => changeSession({ me: found }), setError)
  }, [token])
  useLayoutEffect(() => {
    const heading = main.current?.querySelector('h1')
    if (!heading) return
    document.title = `${heading.textContent} · ${me?.name}`
    heading.focus()
  }, [route.name, route.param, me, getLanguage()])
  const onLanguage = (/** @type {string} */ name) => setLanguage(name).then(() => setShown(name))
  const signIn = { login: '/api/public/merchant/login', readMe }
  if (!me)
    return html`<${SignIn} ...${signIn} error=${token && error} isOpening=${Boolean(token) && !error}><${Language} onChange=${onLanguage} /><//>`
  const { Screen } = screens[route.name]
  // The open screen stays behind the form until somebody signs in again.
  return html`
    ${!token && html`<${SignIn} ...${signIn} isExpired><${Language} onChange=${onLanguage} /><//>`}
    <div key=${me.email} class="console" hidden=${!token}>
      <${Top} me=${me} route=${route} onLanguage=${onLanguage} />
      <main id="main" tabindex="-1" ref=${main}><${Screen} key=${`${route.name} ${route.param}`} param=${route.param} query=${route.query} /></main>
    </div>`
}

await setLanguage(readLanguage())
render(html`<${App} />`, /** @type {Element} */ (document.getElementById('app')))
document.getElementById('late')?.remove()
