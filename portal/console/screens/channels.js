import { Act, announce, announced } from '../../kit/actions.js'
import { ApiError, callNotifier } from '../../kit/api.js'
import { FoldedForm } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, Facts, Live, Time, useLive } from '../../kit/ui.js'

/** Describes a field for a secret, which is sent and never shown again. */
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
  { name: 'name', label: t('name'), maxlength: 255 },
  { name: 'plan', label: t('channels.plan'), options: ['paid', 'free'].map(id => ({ id, label: t(`plan.${id}`) })) },
  { name: 'waba_id', label: t('channels.account'), inputmode: 'numeric', maxlength: 32 },
  secret('access_token', { required: true }),
  secret('app_secret'),
  secret('verify_token'),
]

/** @param {string} id */
const toPath = id => `/api/channels/${encodeURIComponent(id)}`

/** Stores the entered values of a number; values that were left empty stay as they are. */
const put = (/** @type {string} */ id, /** @type {Record<string, string>} */ entered) => {
  const given = Object.entries(entered).map(([name, value]) => [name, value.trim()])
  const body = Object.fromEntries(given.filter(([, value]) => value !== ''))
  return announced(callNotifier(toPath(id), { method: 'PUT', body }))
}

/** Shows a form for a new number. `known` holds the existing numbers, which this form does not change. */
const NewChannel = ({ known, onDone }) => {
  const send = async ({ phone_number_id, ...entered }) => {
    const id = phone_number_id.trim()
    if (known.includes(id)) throw new ApiError(t('channels.known'))
    await put(id, entered)
    onDone()
  }
  return html`<${FoldedForm} title=${t('channels.add')} kind="panel" id="channel" fields=${newFields()}
    start=${{ plan: 'paid' }} submit=${t('channels.store')} send=${send} />`
}

const NewToken = ({ id, onDone }) => {
  const fields = [secret('access_token', { required: true, hint: t('channels.token_hint') })]
  return html`<${FoldedForm} title=${t('channels.new_token')} id=${`token-${id}`} fields=${fields}
    submit=${t('channels.store')} send=${entered => put(id, entered).then(onDone)} />`
}

const Register = ({ id, onDone }) => {
  const send = async ({ pin, certificate }) => {
    const body = { pin: pin.trim(), certificate: certificate.trim() }
    await announced(callNotifier(`${toPath(id)}/register`, { method: 'POST', body }))
    onDone()
  }
  const fields = [
    secret('pin', { inputmode: 'numeric', maxlength: 6, required: true }),
    secret('certificate', { maxlength: 10_000, required: true, hint: t('channels.register_hint') }),
  ]
  return html`<${FoldedForm} title=${t('channels.register')} id=${`register-${id}`} fields=${fields} send=${send} />`
}

/** Shows the result of a check: the number can send, or the problems that prevent it. */
const Health = ({ checked: { ok, problems, warnings, number } }) => html`
  <div class=${`notice ${ok ? 'good' : ''}`}>
    <p><strong>${ok ? `✓ ${t('channels.healthy')}` : `✗ ${t('channels.ill')}`}</strong>
      ${number && html` ${number.display_phone_number} · ${number.verified_name} · `}
      ${number && `${t('channels.quality')}: ${number.quality_rating ?? '–'}`}</p>
    ${[...problems, ...warnings].map(sentence => html`<p key=${sentence}>${sentence}</p>`)}
  </div>`

const marks = { ok: '✓', warning: '!', wrong: '✗' }

/** Shows the doctor's checks of a channel, and subscribes the app where that is what is missing. */
const Doctor = ({ id }) => {
  const [lines, setLines] = useState(/** @type {any[]} */ ([]))
  const show = async (/** @type {Promise<any>} */ asking) => {
    const { data } = await asking
    setLines(data)
    announce(t(data.some(line => line.state === 'wrong') ? 'doctor.ill' : 'doctor.healthy'))
  }
  const subscribe = () => show(callNotifier(`${toPath(id)}/subscribe`, { method: 'POST', body: {} }))
  const isUnsubscribed = lines.some(({ check, state }) => check === 'subscription' && state === 'wrong')
  return html`<div class="row"><${Act} run=${() => show(callNotifier(`${toPath(id)}/doctor`))}>${t('doctor.ask')}<//>
      ${
        isUnsubscribed &&
        may('subscribeChannel') &&
        html`<${Act} kind="primary" run=${subscribe}>
        ${t('doctor.subscribe')}<//>`
      }</div>
    ${
      lines.length > 0 &&
      html`<ul class="plain doctor">${lines.map(
        ({ check, state, text }) =>
          html`<li key=${check} class=${state === 'ok' ? '' : 'notice'}>
          <span aria-label=${t(`doctor.${state}`)}>${marks[state]}</span> ${text}</li>`,
      )}</ul>`
    }`
}

/** Shows the last characters of a secret and, during a rotation, of the new secret, until the new one has worked. */
const Ends = ({ now, next }) =>
  html`<code>${now === null ? '–' : `…${now}`}</code>
  ${next && html` → <code>…${next}</code> <span class="soft">${t('channels.unproven')}</span>`}`

/** Words how many people the templates of a portfolio have reached, of those they may reach in 24 hours. */
const wordLimit = (/** @type {{ max_people: number | null, used: number } | null} */ limit) =>
  limit === null
    ? '–'
    : limit.max_people === null
      ? t('channels.unlimited')
      : t('channels.limit_used', { used: limit.used, limit: limit.max_people })

/** Shows the last news of the platform about the account of a number, problems first. */
const Notices = ({ of }) =>
  of.length > 0 &&
  html`<ul class="plain notices">${of
    .slice()
    .sort((a, b) => Number(b.is_problem) - Number(a.is_problem))
    .map(
      ({ text, at, is_problem }) =>
        html`<li key=${text} class=${is_problem ? 'notice' : 'soft'}>${text} <${Time} at=${at} /></li>`,
    )}</ul>`

const Channel = ({ channel, onChanged }) => {
  const { phone_number_id: id, state } = channel
  const post = (/** @type {string} */ verb) => callNotifier(`${toPath(id)}/${verb}`, { method: 'POST', body: {} })
  const [checked, setChecked] = useState(/** @type {any} */ (null))
  const check = async () => {
    const { data } = await post('check')
    setChecked(data)
    announce(t(data.ok ? 'channels.healthy' : 'channels.ill'))
    onChanged()
  }
  const facts = {
    [t('channels.access_token')]:
      html`<${Ends} now=${channel.access_token_last4} next=${channel.next_access_token_last4} />`,
    [t('channels.app_secret')]: html`<${Ends} now=${channel.app_secret_last4} next=${channel.next_app_secret_last4} />`,
    [t('menu.webhooks')]: channel.webhooks ? t('channels.yes') : t('channels.no_webhooks'),
    [t('channels.checked')]: channel.checked_at ? html`<${Time} at=${channel.checked_at} />` : '–',
    [t('channels.registered')]: channel.registered_at ? html`<${Time} at=${channel.registered_at} />` : '–',
    [t('channels.rate')]: String(channel.messages_per_second),
    [t('channels.account')]: channel.waba_id ?? '–',
    ...(channel.messaging_limit !== undefined && { [t('channels.limit')]: wordLimit(channel.messaging_limit) }),
  }
  return html`<section class="panel" aria-labelledby=${`channel-${id}`}>
    <header><h2 id=${`channel-${id}`} tabindex="-1">${channel.name} <code class="soft">${id}</code></h2>
      <span class="row"><${Badge} kind=${state === 'active' ? 'good' : 'bad'}>${t(`channels.${state}`)}<//>
        ${channel.default && html`<${Badge}>${t('channels.default')}<//>`}<${Badge}>
        ${t(`plan.${channel.plan}`)}<//></span></header>
    ${channel.paused_reason && html`<p class="notice">${channel.paused_reason}</p>`}
    <${Facts} of=${facts} />
    <${Notices} of=${channel.notices ?? []} />
    <div class="row">
      ${may('checkChannel') && html`<${Act} run=${check}>${t('channels.check')}<//>`}
      ${
        may('resumeChannel') &&
        state === 'paused' &&
        html`<${Act} kind="primary" run=${() => announced(post('resume')).then(onChanged)}>${t('channels.resume')}<//>`
      }
    </div>
    ${checked && html`<${Health} checked=${checked} />`}
    ${may('diagnoseChannel') && html`<${Doctor} id=${id} />`}
    ${may('registerChannel') && html`<${Register} id=${id} onDone=${onChanged} />`}
    ${may('putChannel') && html`<${NewToken} id=${id} onDone=${onChanged} />`}
  </section>`
}

export const Channels = () => {
  const list = useLive(signal => callNotifier('/api/channels', { signal }), 20)
  return html`<h1 tabindex="-1">${t('menu.channels')}</h1>
    <${Live} of=${list} lines=${8}>${({ data }) => html`<div class="stack">
      ${data.length === 0 && html`<p class="empty">${t('channels.empty')}</p>`}
      <div class="columns">${data.map(
        channel => html`<${Channel} key=${channel.phone_number_id} channel=${channel} onChanged=${list.reload} />`,
      )}</div>
      ${
        may('putChannel') &&
        html`<${NewChannel} known=${data.map(each => each.phone_number_id)}
        onDone=${list.reload} />`
      }
    </div>`}<//>`
}
