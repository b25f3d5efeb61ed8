import { notifier, withQuery } from '../../kit/api.js'
import { number, t } from '../../kit/i18n.js'
import { Pages, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { announced, Badge, Button, column, ErrorText, Field, Live, Panel, Table, useAction } from '../../kit/ui.js'

const kinds = { APPROVED: 'good', REJECTED: 'bad', DISABLED: 'bad', PAUSED: 'warn' }

/** A template's text as a customer reads it, with the positions of the parameters. */
const previewOf = ({ components }) =>
  components
    .filter(({ type, text }) => typeof text === 'string' && /^(HEADER|BODY|FOOTER)$/i.test(type))
    .map(({ text }) => text)
    .join('\n')

const columns = () => [
  column(t('templates.name'), row => html`<code>${row.name}</code>`),
  column(t('language'), row => row.language),
  column(t('templates.category'), row => row.category),
  column(
    t('status'),
    row => html`<${Badge} kind=${kinds[row.status] ?? 'neutral'}>${row.status}<//>
      ${row.held && html` <${Badge} kind="bad">${t('templates.held')}<//>`}
      ${row.budget_paused_at && html` <${Badge} kind="warn">${t('templates.budget')}<//>`}`,
  ),
  column(t('templates.preview'), row => html`<p class="lines">${previewOf(row)}</p>`),
]

/** The catalogue of the account, as last synced. */
export const Templates = () => {
  const [name, setName] = useState('')
  const list = usePages(
    (cursor, signal) => notifier(withQuery('/api/templates', { name: name.trim(), cursor, limit: 100 }), { signal }),
    [name],
  )
  const [synced, setSynced] = useState(/** @type {any} */ (null))
  const sync = useAction(async () => {
    const { data } = await announced(notifier('/api/templates/sync', { method: 'POST', body: {} }))
    setSynced(data)
    list.reload()
  })
  const rows = list.data?.data.map(row => ({ ...row, id: `${row.waba_id} ${row.name} ${row.language}` })) ?? []
  return html`<h1 tabindex="-1">${t('menu.templates')}</h1>
    <${Panel} title=${t('templates.title')}
      aside=${may('syncTemplates') && html`<${Button} isBusy=${sync.isBusy} onClick=${() => sync.run()}>${t('templates.sync')}<//>`}>
      <${ErrorText} error=${sync.error} />
      ${synced && html`<p class="notice good">${t('templates.synced', { count: number(synced.templates), added: number(synced.added), changed: number(synced.changed), removed: number(synced.removed) })}</p>`}
      <${Field} id="template-name" label=${t('templates.filter')} value=${name} autocomplete="off" spellcheck=${false} maxlength="512"
        onInput=${event => setName(event.target.value)} />
      <${Live} of=${list} lines=${6}>${data => html`
        <${Table} caption=${t('menu.templates')} columns=${columns()} rows=${rows} empty=${t('templates.empty')} />
        <${Pages} of=${list} next=${data.next_cursor} />`}<//>
    <//>`
}
