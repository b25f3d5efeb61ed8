import { Act } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { getSession } from '../../kit/session.js'
import { Facts, Panel } from '../../kit/ui.js'

/** Reads what an agent asks for. Orders checks the signature once the person decides. @param {string} text */
const readRequest = text => {
  try {
    const bytes = atob(text.split('.')[0].replaceAll('-', '+').replaceAll('_', '/'))
    const asked = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, byte => byte.charCodeAt(0))))
    return URL.canParse(asked.redirect_uri) ? asked : undefined
  } catch {
    return undefined
  }
}

/** Asks the person to allow an agent on the web, or to refuse it. */
export const Agent = ({ title, params: [request = ''] }) => {
  const heading = html`<h1 tabindex="-1">${title}</h1>`
  const asked = readRequest(request)
  if (!asked) return html`${heading}<p class="notice">${t('agent.broken')}</p>`
  const { me } = getSession()
  const start = { may_book: String(asked.may_book), days: '30' }
  const decide = async (/** @type {boolean} */ allow, /** @type {object} */ entered = {}) => {
    const { may_book, days } = { ...start, ...entered }
    const body = { request, allow, may_book: may_book === 'true', days: Number(days) }
    const { data } = await callOrders('/agent', { method: 'POST', body })
    location.assign(data.url)
  }
  const options = [1, 7, 30, 90, 365].map(count => ({ id: String(count), label: t('agent.days', { count }) }))
  const fields = [
    { name: 'may_book', label: t('agent.may_book'), type: 'checkbox' },
    { name: 'days', label: t('agent.until'), options },
  ]
  return html`${heading}<${Panel} title=${t('agent.asks', { name: asked.name })}>
    <${Facts} of=${{
      [t('agent.merchant')]: me?.tenant.name,
      [t('agent.sent_to')]: new URL(asked.redirect_uri).host,
    }} />
    <p>${t('agent.reads')}</p><p class="notice">${t('agent.beware')}</p>
    <${Form} id="agent" fields=${fields} start=${start} submit=${t('agent.allow')}
      send=${(/** @type {object} */ entered) => decide(true, entered)}>
      <${Act} run=${() => decide(false)}>${t('agent.refuse')}<//><//><//>`
}
