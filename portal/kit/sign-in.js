import { Button, ErrorText, instead, useAction } from './actions.js'
import { ApiError, callOrders } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useRef, useState } from './preact.js'
import { changeSession, getSession, ofBrowser, ofTab } from './session.js'
import { begin, Providers, Qr, useMethods } from './sign-in-links.js'
import { Field, Loading } from './ui.js'

/** Matches texts that a header can hold; the id of every company is one, in lower case. */
const isTenantId = /^[\x21-\x7e]+$/

/** Takes the company that the person typed. @param {string} typed */
const chooseTenant = typed => {
  const tenant = typed.trim().toLowerCase()
  if (!isTenantId.test(tenant)) throw new ApiError(t('sign_in.wrong'), { status: 422 })
  changeSession({ tenant })
  return tenant
}

/** @typedef {{ tenant: string, email: string, password: string, code: string }} Entered */

/**
 * Signs in, then reads to whom the token belongs.
 * @param {(options: object) => Promise<any>} readMe
 * @param {Entered} entered
 */
const signIn = async (readMe, { tenant: typed, email, password, code }) => {
  const tenant = chooseTenant(typed)
  const body = { email: email.trim(), password, ...(code && { code: code.trim() }) }
  const { token } = await callOrders('/login', { method: 'POST', body }).catch(error => {
    const { status, retryAfter, errors } = error
    if (status === 422 && errors.email) throw new ApiError(t('sign_in.wrong'), { status })
    throw status === 429 ? new ApiError(t('sign_in.too_many'), { status, retryAfter }) : error
  })
  await begin(tenant, token, readMe)
}

/** Shows a new second factor, once. */
const NewFactor = ({ factor: { qr, secret, recovery_codes } }) => html`<div class="notice stack">
  <p>${t('sign_in.set_up')}</p><${Qr} rows=${qr} />
  <${Field} id="secret" label=${t('sign_in.secret')} value=${secret} readonly />
  <p>${t('sign_in.recovery')}</p>
  <ul>${recovery_codes.map(each => html`<li key=${each}><code>${each}</code></li>`)}</ul></div>`

export const SignIn = (
  /** @type {any} */ { readMe, error, notice, isExpired = false, isOpening = false, children },
) => {
  const { me } = getSession()
  const [entered, setEntered] = useState({
    tenant: me?.tenant.id ?? ofBrowser.get('courier.tenant') ?? '',
    email: me?.email ?? '',
    password: '',
    code: '',
  })
  const [factor, setFactor] = useState(/** @type {any} */ (undefined))
  const [asksCode, setAsksCode] = useState(false)
  const methods = useMethods()
  const readMethods = () => {
    if (!isTenantId.test(entered.tenant)) return
    chooseTenant(entered.tenant)
    methods.read()
  }
  useEffect(readMethods, [])
  const action = useAction(async () => {
    try {
      await signIn(readMe, entered)
    } catch (failed) {
      const { errors = {} } = /** @type {ApiError} */ (failed)
      if (!errors.second_factor && !errors.code) throw failed
      setAsksCode(true)
      const { email, password } = entered
      const body = { email: email.trim(), password }
      if (errors.second_factor)
        setFactor((await callOrders('/sign-in/second-factor', { method: 'POST', body, token: null })).data)
      else if (entered.code) throw failed
    }
  })
  const form = useRef(/** @type {any} */ (null))
  useEffect(
    () => form.current?.querySelector(entered.tenant ? (entered.email ? '#password' : '#email') : '#tenant')?.focus(),
    [isOpening],
  )
  const bind = (/** @type {'tenant' | 'email' | 'password' | 'code'} */ name) => ({
    id: name,
    name,
    label: t(`sign_in.${name}`),
    value: entered[name],
    onInput: event => setEntered(last => ({ ...last, [name]: event.target.value })),
    required: true,
  })
  if (isOpening) return html`<main class="sign-in"><${Loading} lines=${4} /></main>`
  return html`<main class="sign-in">
    <form ref=${form} onSubmit=${instead(() => action.run())}>
      <h1>${t('sign_in.title')}</h1>
      ${notice && html`<p class="notice good" role="status">${notice}</p>`}
      ${isExpired && html`<p>${t('sign_in.expired')}</p>`}
      ${!ofTab.isKept() && html`<p class="notice">${t('sign_in.not_stored')}</p>`}
      <${Field} ...${bind('tenant')} autocomplete="organization" autocapitalize="none" spellcheck=${false}
        hint=${t('sign_in.tenant_hint')} onBlur=${readMethods} />
      ${
        methods.password &&
        html`<${Field} ...${bind('email')} type="email" autocomplete="username" />
      <${Field} ...${bind('password')} type="password" autocomplete="current-password" />`
      }
      ${factor && html`<${NewFactor} factor=${factor} />`}
      ${
        asksCode &&
        html`<${Field} ...${bind('code')} hint=${t('sign_in.code_hint')} inputmode="text"
        autocomplete="one-time-code" />`
      }
      <${ErrorText} error=${action.error ?? error} />
      <div class="row">${
        methods.password &&
        html`<${Button} kind="primary" type="submit" isBusy=${action.isBusy}>
        ${t('sign_in.title')}<//>`
      }${children}</div>
      <${Providers} ...${methods} />
    </form>
  </main>`
}
