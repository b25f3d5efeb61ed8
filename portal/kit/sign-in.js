import { Button, ErrorText, instead, useAction } from './actions.js'
import { ApiError, callOrders } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useRef, useState } from './preact.js'
import { changeSession, getSession, ofBrowser, ofTab } from './session.js'
import { Field, Loading } from './ui.js'

/** Matches texts that a header can hold; the id of every company is one, in lower case. */
const isTenantId = /^[\x21-\x7e]+$/

/**
 * Signs in, then reads to whom the token belongs.
 * @param {(options: object) => Promise<any>} readMe
 * @param {{ tenant: string, email: string, password: string }} entered
 */
const signIn = async (readMe, { tenant: typed, email, password }) => {
  const tenant = typed.trim().toLowerCase()
  if (!isTenantId.test(tenant)) throw new ApiError(t('sign_in.wrong'), { status: 422 })
  changeSession({ tenant })
  const body = { email: email.trim(), password }
  const { token } = await callOrders('/login', { method: 'POST', body }).catch(error => {
    const { status, retryAfter } = error
    if (status === 422) throw new ApiError(t('sign_in.wrong'), { status })
    throw status === 429 ? new ApiError(t('sign_in.too_many'), { status, retryAfter }) : error
  })
  ofBrowser.set('courier.tenant', tenant)
  changeSession({ token, me: await readMe({ token }) })
}

export const SignIn = ({ readMe, error = undefined, isExpired = false, isOpening = false, children }) => {
  const { me } = getSession()
  const [entered, setEntered] = useState({
    tenant: me?.tenant.id ?? ofBrowser.get('courier.tenant') ?? '',
    email: me?.email ?? '',
    password: '',
  })
  const action = useAction(() => signIn(readMe, entered))
  const form = useRef(/** @type {any} */ (null))
  useEffect(
    () => form.current?.querySelector(entered.tenant ? (entered.email ? '#password' : '#email') : '#tenant')?.focus(),
    [isOpening],
  )
  const bind = (/** @type {'tenant' | 'email' | 'password'} */ name) => ({
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
      ${isExpired && html`<p>${t('sign_in.expired')}</p>`}
      ${!ofTab.isKept() && html`<p class="notice">${t('sign_in.not_stored')}</p>`}
      <${Field} ...${bind('tenant')} autocomplete="organization" autocapitalize="none" spellcheck=${false}
        hint=${t('sign_in.tenant_hint')} />
      <${Field} ...${bind('email')} type="email" autocomplete="username" />
      <${Field} ...${bind('password')} type="password" autocomplete="current-password" />
      <${ErrorText} error=${action.error ?? error} />
      <div class="row"><${Button} kind="primary" type="submit" isBusy=${action.isBusy}>${t('sign_in.title')}<//>
      ${children}</div>
    </form>
  </main>`
}
