import { notifier } from '../../kit/api.js'
import { t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { announce, announced, Badge, Button, ErrorText, Live, Time, useAction, useLive } from '../../kit/ui.js'
import { NewChannel, NewToken, Register } from './channel-forms.js'

/** The result of a check: the number can send, or the problems that prevent it. */
const Health = ({ checked: { ok, problems, warnings, number } }) => html`
  <div class=${`notice ${ok ? 'good' : ''}`}>
    <p><strong>${ok ? `✓ ${t('channels.healthy')}` : `✗ ${t('channels.ill')}`}</strong>
      ${number && html` ${number.display_phone_number} · ${number.verified_name} · ${t('channels.quality')}: ${number.quality_rating ?? '–'}`}</p>
    ${[...problems, ...warnings].map(sentence => html`<p key=${sentence}>${sentence}</p>`)}
  </div>`

/** The last characters of a secret, and during a rotation those of the new one, until it has worked. */
const Ends = ({ now, next }) =>
  html`<code>${now === null ? '–' : `…${now}`}</code>${next && html` → <code>…${next}</code> <span class="soft">${t('channels.unproven')}</span>`}`

const Channel = ({ channel, onChanged }) => {
  const { phone_number_id: id, state } = channel
  const path = `/api/channels/${encodeURIComponent(id)}`
  const [checked, setChecked] = useState(/** @type {any} */ (null))
  const check = useAction(async () => {
    const { data } = await notifier(`${path}/check`, { method: 'POST', body: {} })
    setChecked(data)
    announce(t(data.ok ? 'channels.healthy' : 'channels.ill'))
    onChanged()
  })
  const resume = useAction(async () => {
    await announced(notifier(`${path}/resume`, { method: 'POST', body: {} }))
    onChanged()
  })
  const facts = {
    'channels.access_token': html`<${Ends} now=${channel.access_token_last4} next=${channel.next_access_token_last4} />`,
    'channels.app_secret': html`<${Ends} now=${channel.app_secret_last4} next=${channel.next_app_secret_last4} />`,
    'channels.webhooks': channel.webhooks ? t('channels.yes') : t('channels.no_webhooks'),
    'channels.checked': channel.checked_at ? html`<${Time} at=${channel.checked_at} />` : '–',
    'channels.registered': channel.registered_at ? html`<${Time} at=${channel.registered_at} />` : '–',
    'channels.rate': String(channel.messages_per_second),
    'channels.account': channel.waba_id ?? '–',
  }
  return html`<section class="panel" aria-labelledby=${`channel-${id}`}>
    <header><h2 id=${`channel-${id}`} tabindex="-1">${channel.name} <code class="soft">${id}</code></h2>
      <span class="row"><${Badge} kind=${state === 'active' ? 'good' : 'bad'}>${t(`channels.${state}`)}<//>
        ${channel.default && html`<${Badge}>${t('channels.default')}<//>`}<${Badge}>${t(`plan.${channel.plan}`)}<//></span></header>
    ${channel.paused_reason && html`<p class="notice">${channel.paused_reason}</p>`}
    <dl class="details">${Object.entries(facts).map(([name, value]) => html`<div key=${name}><dt>${t(name)}</dt><dd>${value}</dd></div>`)}</dl>
    <div class="row">
      ${may('checkChannel') && html`<${Button} isBusy=${check.isBusy} onClick=${() => check.run()}>${t('channels.check')}<//>`}
      ${may('resumeChannel') && state === 'paused' && html`<${Button} kind="primary" isBusy=${resume.isBusy} onClick=${() => resume.run()}>${t('channels.resume')}<//>`}
    </div>
    <${ErrorText} error=${check.error ?? resume.error} />
    ${checked && html`<${Health} checked=${checked} />`}
    ${may('registerChannel') && html`<${Register} id=${id} onDone=${onChanged} />`}
    ${may('putChannel') && html`<${NewToken} id=${id} onDone=${onChanged} />`}
  </section>`
}

/** The numbers that send messages. */
export const Channels = () => {
  const list = useLive(signal => notifier('/api/channels', { signal }), 20)
  return html`<h1 tabindex="-1">${t('menu.channels')}</h1>
    <${Live} of=${list} lines=${8}>${({ data }) => html`<div class="stack">
      ${data.length === 0 && html`<p class="empty">${t('channels.empty')}</p>`}
      <div class="columns">${data.map(channel => html`<${Channel} key=${channel.phone_number_id} channel=${channel} onChanged=${list.reload} />`)}</div>
      ${may('putChannel') && html`<${NewChannel} known=${data.map(each => each.phone_number_id)} onDone=${list.reload} />`}
    </div>`}<//>`
}
