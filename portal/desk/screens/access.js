import { Form } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import {
  AskingButton,
  announced,
  column,
  ErrorText,
  Live,
  Panel,
  Secret,
  Table,
  Time,
  useAction,
  useLive,
} from '../../kit/ui.js'
import { merchant } from '../merchant.js'

/** The tokens of the merchant's programs. */
const Tokens = () => {
  const list = useLive(signal => merchant('/token', { signal }))
  const [secret, setSecret] = useState('')
  const add = async (/** @type {Record<string, string>} */ { name, day }) => {
    const body = { name, ...(day && { expires_at: new Date(`${day}T23:59:59`).toISOString() }) }
    setSecret((await announced(merchant('/token', { method: 'POST', body }))).data.token)
    list.reload()
  }
  const revoke = useAction(async (/** @type {string} */ id) => {
    await announced(merchant(`/token/${encodeURIComponent(id)}`, { method: 'DELETE' }))
    list.reload()
  })
  const columns = [
    column(t('access.name'), row => row.name ?? t('access.by_company')),
    column(t('access.created'), row => html`<${Time} at=${row.created_at} />`),
    column(t('access.used'), row => (row.last_used_at ? html`<${Time} at=${row.last_used_at} />` : t('access.never'))),
    column(t('access.expires'), row =>
      row.expires_at ? new Date(row.expires_at).toLocaleDateString('sv') : t('access.never'),
    ),
    column(
      '',
      row =>
        html`<${AskingButton} question=${t('access.revoke_sure')} onClick=${() => revoke.run(row.id)}>${t('access.revoke')}<//>`,
    ),
  ]
  const fields = [
    { name: 'name', label: t('access.name'), maxlength: 100, required: true },
    { name: 'day', label: t('access.expires_on'), type: 'date' },
  ]
  return html`<${Panel} title=${t('access.tokens')}><p class="soft">${t('access.about')}</p>
    <${ErrorText} error=${revoke.error} />
    <${Live} of=${list}>${({ data }) => html`<${Table} caption=${t('access.tokens')} columns=${columns} rows=${data} empty=${t('access.no_tokens')} />`}<//>
    ${secret && html`<${Secret} label=${t('access.token')} value=${secret} />`}
    <${Form} id="token" fields=${fields} submit=${t('access.add_token')} send=${add} /><//>`
}

/** Who and what may act for the merchant. */
export const Access = () => html`<h1 tabindex="-1">${t('menu.access')}</h1><${Tokens} />`
