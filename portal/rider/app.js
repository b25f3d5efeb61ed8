import { ApiError, callOrders } from '../kit/api.js'
import { readLanguage, setLanguage, t } from '../kit/i18n.js'
import { lazy } from '../kit/lazy.js'
import { html, render } from '../kit/preact.js'
import { changeSession, getSession, ofBrowser } from '../kit/session.js'
import { show } from '../kit/shell.js'
import { changeState } from './queue.js'
import { List } from './screens/list.js'
import { Parcel } from './screens/parcel.js'
import { Waiting } from './screens/waiting.js'
import { Strip } from './strip.js'
import { startSync } from './sync.js'

const screens = {
  list: { Screen: List },
  scan: { Screen: lazy(async () => (await import('./screens/scan.js')).Scan) },
  waiting: { Screen: Waiting },
  parcel: { Screen: Parcel, isHidden: true },
}

/** Reads who is signed in: acts on the phone belong to the rider's id, since a name may change. */
const readMe = async (options = {}) => {
  const { data: me } = await callOrders('/me', options)
  const { data } = await callOrders('/rider/parcels', options).catch(error => {
    const { status } = error
    throw status === 403 || status === 404 ? new ApiError(t('rider.not_rider'), { status }) : error
  })
  return { ...me, id: data.rider.id }
}

/** Signs in by the link of a QR code, whose code works once and leaves the address at once. */
const signInByLink = async () => {
  const [, tenant, code] = /^#\/in\/([^/]+)\/([\w-]+)$/.exec(location.hash) ?? []
  if (!code) return
  history.replaceState(null, '', location.pathname)
  await setLanguage(readLanguage())
  const before = getSession()
  changeSession({ tenant: decodeURIComponent(tenant).toLowerCase(), token: null, me: null })
  try {
    const body = { code, device: navigator.userAgent.slice(0, 100) }
    const { token } = await callOrders('/sign-in', { method: 'POST', body, token: null })
    ofBrowser.set('courier.tenant', getSession().tenant)
    changeSession({ token, me: await readMe({ token }) })
  } catch (error) {
    changeSession(before)
    changeState({
      error: error instanceof ApiError && error.status === 422 ? new ApiError(t('rider.link_used')) : error,
    })
  }
}

const againMs = 10_000
/** The content policy admits only this address. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy('worker', {
  createScriptURL: () => 'worker.js',
})

/** Registers the service worker, and does so again if a file of its first version is lost on the way. */
const register = async () => {
  const again = () => window.setTimeout(register, againMs)
  try {
    const registration = await navigator.serviceWorker.register(policy?.createScriptURL('') ?? 'worker.js')
    const listen = (/** @type {any} */ { target }) => target.state === 'redundant' && !registration.active && again()
    registration.installing?.addEventListener('statechange', listen, { once: true })
    return registration
  } catch {
    again()
    return undefined
  }
}

/**
 * Installs the service worker. A newer version that waits takes over when the page opens: no form is open yet. Without
 * one, such as on plain http, the page works online only, and says so.
 */
const install = async () => {
  if (!('serviceWorker' in navigator)) return
  const registration = await register()
  if (!registration?.waiting || !navigator.serviceWorker.controller) return
  navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true })
  registration.waiting.postMessage('take over')
}

install().catch(() => {})
navigator.storage?.persist?.().catch(() => {})
await signInByLink()
await show({ screens, readMe })
render(html`<${Strip} />`, /** @type {Element} */ (document.getElementById('strip')))
startSync()
