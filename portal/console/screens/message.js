import { announced, Button, ErrorText, instead, useAction } from '../../kit/actions.js'
import { callNotifier, newKeys, withQuery } from '../../kit/api.js'
import { pause } from '../../kit/form.js'
import { dateTime, money, named, t } from '../../kit/i18n.js'
import { html, useMemo, useRef, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Field, Live, Panel, useLive } from '../../kit/ui.js'
import { buildComponents, findParameters, orderFields } from '../template-parameters.js'

/** Shows the parts of a template's message as the customer reads them. */
export const Rendered = ({ of: text }) =>
  html`${text.media && html`<p class="media">${named('media', text.media.kind)}</p>`}
    ${text.header && html`<p><strong>${text.header}</strong></p>`}
    <p class="lines">${text.body}</p>
    ${text.footer && html`<p class="soft">${text.footer}</p>`}
    ${text.buttons.map(({ label }, index) => html`<p key=${index} class="reply">${label}</p>`)}`

/** Shows the message as the customer's phone does. */
const Phone = ({ text }) =>
  html`<div class="phone" aria-label=${t('message.phone')} role="group"><div class="bubble"><${Rendered} of=${text} />
  </div></div>`

const showPrice = ({ amount, currency, is_free }) =>
  is_free ? t('cost.free') : amount === null ? t('cost.unknown') : money(amount, currency)

/** Shows the result of a preflight: whether the message would be sent, when, and at what price. */
const Verdict = ({ of: { status, leaves_at, waits_for, errors, opt_out, price } }) => {
  const sentences = Object.values(errors).flat()
  const isGood = status === 'queued' && sentences.length === 0 && !waits_for
  const when =
    leaves_at && new Date(leaves_at).getTime() > Date.now() + 60_000
      ? t('message.leaves', { at: dateTime(leaves_at) })
      : t('message.leaves_now')
  return html`<div class=${`notice ${isGood ? 'good' : ''}`} role="status">
    <p><strong>${status === 'refused' ? t('message.refused') : leaves_at ? when : t('message.waits')}
      </strong> ${status !== 'refused' && html`<span>· ${showPrice(price)}</span>`}</p>
    ${waits_for && html`<p>${waits_for}</p>`}
    ${sentences.map(sentence => html`<p key=${sentence}>${sentence}</p>`)}
    ${opt_out.scope && html`<p>${t(opt_out.exempt ? 'message.exempt' : 'message.opted_out')}</p>`}
  </div>`
}

/** Shows a form that fills in a template, shows the preflight, and sends the message. */
const Draft = ({ waybill, template, keys, onSent }) => {
  const parameters = findParameters(template) ?? []
  const [values, setValues] = useState(() => Object.fromEntries(parameters.map(({ id, guess }) => [id, guess])))
  const body = {
    waybill_number: waybill,
    template: {
      name: template.name,
      language: { code: template.language },
      components: buildComponents(parameters, values),
    },
  }
  const isFilled = parameters.every(({ id }) => values[id].trim() !== '')
  const isChecked = may('preflightMessages')
  const preflight = useLive(signal => check(body, isFilled && isChecked, signal), 0, [JSON.stringify(body)])
  // The last result stays on screen while the next one loads.
  const last = useRef(/** @type {any} */ (undefined))
  if (preflight.data) last.current = preflight.data
  const verdict = last.current
  const isReady = isFilled && (!isChecked || (preflight.data && preflight.data.status !== 'refused'))
  const send = useAction(async () => {
    if (!isReady) return
    await announced(callNotifier('/api/messages', { method: 'POST', body, key: keys.of(body) }))
    keys.done()
    onSent()
  })
  return html`<form class="stack" onSubmit=${instead(() => send.run())}>
    <p class="soft lines">${template.components.find(({ type }) => type === 'BODY')?.text}</p>
    ${parameters.map(
      ({ id, part, label }) => html`<${Field} key=${id} id=${`parameter-${id}`}
        label=${t('message.parameter', { part: named('part', part), label })}
      value=${values[id]} onInput=${event => setValues({ ...values, [id]: event.target.value })} list="order-fields"
        maxlength="1024" autocomplete="off" />`,
    )}
    <datalist id="order-fields">${orderFields.map(name => html`<option key=${name} value=${`{{${name}}}`}></option>`)}
      </datalist>
    ${!isFilled && html`<p class="soft">${t('message.fill')}</p>`}
    <div class="preview">${
      verdict &&
      isFilled && [verdict.text && html`<${Phone} text=${verdict.text} />`, html`<${Verdict} of=${verdict} />`]
    }</div>
    <${ErrorText} error=${send.error ?? preflight.error} />
    <div class="row"><${Button} kind="primary" type="submit" isBusy=${send.isBusy || !isReady}>
      ${t('message.send')}<//></div>
  </form>`
}

/**
 * Reads a preflight after a pause in typing.
 * @param {object} body
 * @param {boolean} isWanted
 * @param {AbortSignal} signal
 */
const check = async (body, isWanted, signal) => {
  if (!isWanted) return undefined
  await pause(signal)
  return (await callNotifier('/api/messages/preflight', { method: 'POST', body, signal })).data[0]
}

const toId = template => `${template.waba_id} ${template.name} ${template.language}`

/** Reads all approved templates, page by page. @param {AbortSignal} signal */
const readApproved = async signal => {
  const templates = []
  for (let cursor = ''; ; ) {
    const path = withQuery('/api/templates', { status: 'APPROVED', limit: 200, cursor })
    const { data, next_cursor } = await callNotifier(path, { signal })
    templates.push(...data)
    if (!next_cursor) return templates
    cursor = next_cursor
  }
}

const Sent = ({ waybill }) =>
  may('getTimeline')
    ? t('message.sent')
    : html`<a href=${withQuery('#/messages', { waybill_number: waybill })}>${named('messages', 'queued')}</a>`

export const Composer = ({ waybill, onSent }) => {
  const catalogue = useLive(readApproved, 0)
  const templates = useMemo(
    () => (catalogue.data ?? []).filter(each => findParameters(each) && !each.held),
    [catalogue.data],
  )
  const [chosen, setChosen] = useState('')
  const [isSent, setIsSent] = useState(false)
  // The keys outlive the draft: a message whose outcome is unknown keeps its key when the template is chosen again.
  const keys = useRef(newKeys())
  const template = templates.find(each => toId(each) === chosen)
  const sent = () => {
    setChosen('')
    setIsSent(true)
    document.getElementById('message')?.focus()
    onSent()
  }
  return html`<${Panel} id="message" title=${t('message.title')}>
    ${isSent && html`<p class="notice good"><${Sent} waybill=${waybill} /></p>`}
    <${Live} of=${catalogue} lines=${1}>${() =>
      templates.length === 0
        ? html`<p class="empty">${t('message.no_templates')}</p>`
        : html`
      <${Field} id="template" label=${t('message.template')} value=${chosen} onChange=${event => {
        setChosen(event.target.value)
        setIsSent(false)
      }}>
        <option value="">${t('message.choose')}</option>
        ${templates.map(
          each => html`<option key=${toId(each)} value=${toId(each)}>
          ${each.name} · ${each.language}</option>`,
        )}
      <//>`}<//>
    ${
      template &&
      html`<${Draft} key=${chosen} waybill=${waybill} template=${template} keys=${keys.current}
      onSent=${sent} />`
    }
  <//>`
}
