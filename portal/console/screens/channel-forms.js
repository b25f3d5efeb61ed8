import { ApiError, notifier } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { announced } from '../../kit/ui.js'

/** A field for a secret, which is sent and never shown again. */
const secret = (/** @type {string} */ name, /** @type {object} */ more = {}) => ({
  name,
  label: t(`channels.${name}`),
  type: 'password',
  autocomplete: 'new-password',
  maxlength: 512,
  ...more,
})

const newFields = () => [
  { name: 'phone_number_id', label: t('channels.number_id'), inputmode: 'numeric', maxlength: 32, required: true },
  { name: 'name', label: t('templates.name'), maxlength: 255 },
  { name: 'plan', label: t('channels.plan'), options: ['paid', 'free'].map(id => ({ id, label: t(`plan.${id}`) })) },
  { name: 'waba_id', label: t('channels.account'), inputmode: 'numeric', maxlength: 32 },
  secret('access_token', { required: true }),
  secret('app_secret'),
  secret('verify_token'),
]

/** @param {string} id */
const pathOf = id => `/api/channels/${encodeURIComponent(id)}`

/** A form for a new number. `known` holds the existing numbers, which this form does not change. */
export const NewChannel = ({ known, onDone }) => {
  const send = async entered => {
    const given = Object.entries(entered).map(([name, value]) => [name, value.trim()])
    const { phone_number_id: id, ...body } = Object.fromEntries(given.filter(([, value]) => value !== ''))
    if (known.includes(id)) throw new ApiError(t('channels.known'))
    await announced(notifier(pathOf(id), { method: 'PUT', body }))
    onDone()
  }
  return html`<details class="panel"><summary>${t('channels.add')}</summary>
    <${Form} id="channel" fields=${newFields()} start=${{ plan: 'paid' }} submit=${t('channels.store')} send=${send} /></details>`
}

export const NewToken = ({ id, onDone }) => {
  const send = async entered => {
    const body = { access_token: entered.access_token.trim() }
    await announced(notifier(pathOf(id), { method: 'PUT', body }))
    onDone()
  }
  const hint = t('channels.token_hint')
  return html`<details><summary>${t('channels.new_token')}</summary>
    <${Form} id=${`token-${id}`} fields=${[secret('access_token', { required: true, hint })]} submit=${t('channels.store')} send=${send} /></details>`
}

export const Register = ({ id, onDone }) => {
  const send = async ({ pin, certificate }) => {
    const body = { pin: pin.trim(), certificate: certificate.trim() }
    await announced(notifier(`${pathOf(id)}/register`, { method: 'POST', body }))
    onDone()
  }
  const fields = [
    secret('pin', { inputmode: 'numeric', maxlength: 6, required: true }),
    secret('certificate', { maxlength: 10_000, required: true, hint: t('channels.register_hint') }),
  ]
  return html`<details><summary>${t('channels.register')}</summary>
    <${Form} id=${`register-${id}`} fields=${fields} submit=${t('channels.register')} send=${send} /></details>`
}
