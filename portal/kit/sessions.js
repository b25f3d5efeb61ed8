import { Act, announced } from './actions.js'
import { callOrders } from './api.js'
import { t } from './i18n.js'
import { Rows } from './lists.js'
import { html } from './preact.js'
import { column, Field, Panel, Time, useLive } from './ui.js'

/** Shows sessions, and ends one or all others; `path` names whose. @param {{ path?: string, title?: string }} props */
export const Sessions = ({ path = '', title = t('sessions') }) => {
  const list = useLive(signal => callOrders(`${path}/sessions`, { signal }), 0, [path])
  const end = (/** @type {object} */ body) => async () => {
    await announced(callOrders(`${path}/sessions/end`, { method: 'POST', body }))
    list.reload()
  }
  const columns = [
    column(t('sessions.since'), ({ signed_in_at: at }) => html`<${Time} at=${at} />`),
    column(t('sessions.used'), ({ last_used_at: at }) => at && html`<${Time} at=${at} />`),
    column('', ({ id, is_current }) =>
      is_current ? t('sessions.this') : html`<${Act} run=${end({ id })}>${t('sessions.end')}<//>`,
    ),
  ]
  return html`<${Panel} title=${title}>
    <${Rows} of=${list} lines=${3} caption=${title} columns=${columns} empty=${t('sessions.none')} />
    <div class="row"><${Act} question=${t('sure')} run=${end({})}>${t('sessions.end_all')}<//></div><//>`
}

/**
 * Shows the link of an invitation once, or that it was mailed.
 * @param {{ invitation: { url: string | null } }} props
 */
export const Invitation = ({ invitation: { url } }) =>
  url
    ? html`<div class="notice good"><${Field} id="invitation" label=${t('invitation.link')} hint=${t('secret.once')}
        value=${url} readonly onFocus=${event => event.target.select()} /></div>`
    : html`<p class="notice good" role="status">${t('invitation.mailed')}</p>`
