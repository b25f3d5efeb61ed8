// Opens links that let a person in: a new password, or the way back from a provider.
import { Act, Button, ErrorText, instead, useAction } from './actions.js'
import { ApiError, callOrders, listServed } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useState } from './preact.js'
import { changeSession, face, ofBrowser, ofTab } from './session.js'
import { Field, Loading } from './ui.js'

/** @typedef {{ kind: string, tenant: string, code: string }} Link */

/** Reads the link of the address, whose code leaves the address at once. @returns {Link | undefined} */
export const readLink = () => {
  const [, kind, tenant, code] =
    /^#\/(password|recover|provider|refused)\/([a-z0-9_-]+)\/([\w-]+)$/.exec(location.hash) ?? []
  if (!kind) return undefined
  history.replaceState(null, '', location.pathname)
  return { kind, tenant, code }
}

/** Begins the session of a token. @param {string} tenant @param {string} token @param {any} readMe */
export const begin = async (tenant, token, readMe) => {
  ofBrowser.set('courier.tenant', tenant)
  changeSession({ token, me: await readMe({ token }) })
}

const browserKey = 'courier.provider'
const openKey = 'courier.open'

/** Sends the person to a provider. @param {string} provider */
const goToProvider = async provider => {
  const body = { provider, ...(face === 'rider' && { rider: true }) }
  const { data } = await callOrders('/sign-in/start', { method: 'POST', body, token: null })
  ofTab.set(browserKey, data.browser)
  ofTab.set(openKey, location.hash)
  location.assign(data.url)
  // Keeps the button busy until the page is left.
  await new Promise(resolve => setTimeout(resolve, 10_000))
}

/** Opens what was open before the person went to a provider, once. */
const reopen = () => {
  const hash = ofTab.get(openKey) ?? ''
  ofTab.remove(openKey)
  if (hash.startsWith('#/')) location.replace(hash)
}

/** @param {Link} link @param {any} readMe */
const comeBack = async ({ kind, tenant, code }, readMe) => {
  reopen()
  const whom = t(face === 'desk' ? 'sign_in.an_owner' : 'sign_in.your_admin')
  if (kind === 'refused') throw new ApiError(t(`sign_in.refused_${code}`, { whom }))
  const body = { code, browser: ofTab.get(browserKey) ?? '' }
  ofTab.remove(browserKey)
  const { token } = await callOrders('/sign-in/finish', { method: 'POST', body, token: null })
  await begin(tenant, token, readMe)
}

/**
 * Reads how people of a company sign in: by password alone where the capability is left out, as the desk knows. The
 * console and the rider's page ask, as they do not know what orders leaves out.
 */
export const useMethods = () => {
  const [methods, setMethods] = useState({ password: true, providers: /** @type {any[]} */ ([]) })
  const read = () => {
    if (face === 'desk' && !listServed().includes('listSignInMethodsMerchant')) return
    callOrders('/sign-in/methods', { token: null }).then(
      ({ data }) => setMethods(data),
      () => {},
    )
  }
  return { ...methods, read }
}

/** Shows a button for each provider. @param {{ providers: { id: string, name: string }[] }} props */
export const Providers = ({ providers }) =>
  providers.map(
    ({ id, name }) => html`<div key=${id} class="row"><${Act} run=${() => goToProvider(id)}>
      ${t('sign_in.with', { name })}<//></div>`,
  )

/**
 * Ends a sign-in by a provider; or sets a password, beside which it offers the providers. A link of the operator signs
 * in even where there are no passwords. `onDone` gets a sentence for the form that follows.
 */
export const LinkPage = (/** @type {{ link: Link, readMe: any, onDone: any }} */ { link, readMe, onDone }) => {
  const { kind, tenant, code } = link
  const isWayBack = kind === 'provider' || kind === 'refused'
  const [password, setPassword] = useState('')
  const methods = useMethods()
  useEffect(() => {
    changeSession({ tenant, token: null, me: null })
    ofBrowser.set('courier.tenant', tenant)
    if (!isWayBack) methods.read()
    else
      comeBack(link, readMe).then(
        () => onDone({}),
        error => onDone({ error }),
      )
  }, [])
  const action = useAction(async () => {
    const body = { code, ...(methods.password && { password }) }
    const { token } = await callOrders('/sign-in/password', { method: 'POST', body, token: null })
    if (token) await begin(tenant, token, readMe)
    onDone(token ? {} : { notice: t('sign_in.password_set') })
  })
  if (isWayBack) return html`<main class="sign-in"><${Loading} lines=${4} /></main>`
  const { errors } = action.error ?? {}
  const title = t(methods.password ? 'sign_in.set_password' : 'sign_in.title')
  return html`<main class="sign-in"><form onSubmit=${instead(() => action.run())}>
    <h1>${title}</h1>
    ${
      methods.password &&
      html`<${Field} id="new-password" label=${t('sign_in.new_password')} hint=${t('sign_in.new_password_hint')}
      type="password" autocomplete="new-password" minlength="8" maxlength="255" required value=${password}
      onInput=${event => setPassword(event.target.value)} />`
    }
    <${ErrorText} error=${errors?.code ? new ApiError(t('sign_in.link_used')) : action.error} />
    ${
      (methods.password || kind === 'recover') &&
      html`<div class="row"><${Button} kind="primary" type="submit" isBusy=${action.isBusy}>${title}<//></div>`
    }
    <${Providers} ...${methods} /></form></main>`
}

/** Draws a QR code from its rows, in which 1 is dark. @param {{ rows: string[] }} props */
export const Qr = ({ rows }) => {
  const path = rows
    .flatMap((line, y) => [...line].map((dark, x) => (dark === '1' ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  const size = rows.length + 8
  return html`<svg class="qr" viewBox=${`-4 -4 ${size} ${size}`} width="280" height="280" role="img"
    aria-label=${t('sign_in.qr')}><rect x="-4" y="-4" width=${size} height=${size} fill="#fff" /><path d=${path}
    fill="#000" /></svg>`
}
