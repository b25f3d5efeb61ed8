import { Act, announced } from '../../kit/actions.js'
import { callNotifier } from '../../kit/api.js'
import { number, t } from '../../kit/i18n.js'
import { Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Field, Panel } from '../../kit/ui.js'

const kinds = { APPROVED: 'good', REJECTED: 'bad', DISABLED: 'bad', PAUSED: 'warn' }

/** Reads templates, and gives each an id. @type {typeof callNotifier} */
const readTemplates = async (path, options) => {
  const { data, ...more } = await callNotifier(path, options)
  return { ...more, data: data.map(row => ({ ...row, id: `${row.waba_id} ${row.name} ${row.language}` })) }
}

/** Returns a template's text as a customer reads it, with placeholders for the parameters. */
const joinTexts = ({ components }) =>
  components
    .filter(({ type, text }) => typeof text === 'string' && /^(HEADER|BODY|FOOTER)$/i.test(type))
    .map(({ text }) => text)
    .join('\n')

const columns = () => [
  column(t('name'), row => html`<code>${row.name}</code>`),
  column(t('language'), row => row.language),
  column(t('templates.category'), row => row.category),
  column(
    t('status'),
    row => html`<${Badge} kind=${kinds[row.status] ?? 'neutral'}>${row.status}<//>
      ${row.held && html` <${Badge} kind="bad">${t('templates.held')}<//>`}
      ${row.budget_paused_at && html` <${Badge} kind="warn">${t('templates.budget')}<//>`}`,
  ),
  column(t('part.body'), row => html`<p class="lines">${joinTexts(row)}</p>`),
]

/** Shows the catalogue of the account, as last synced. */
export const Templates = () => {
  const [name, setName] = useState('')
  const list = usePages('/api/templates', { name: name.trim(), limit: 100 }, 0, readTemplates)
  const [synced, setSynced] = useState(/** @type {any} */ (null))
  const sync = async () => {
    const { data } = await announced(callNotifier('/api/templates/sync', { method: 'POST', body: {} }))
    const counts = Object.entries({ ...data, count: data.templates }).map(([key, count]) => [key, number(count)])
    setSynced(Object.fromEntries(counts))
    list.reload()
  }
  return html`<h1 tabindex="-1">${t('menu.templates')}</h1>
    <${Panel} title=${t('templates.title')}
      aside=${may('syncTemplates') && html`<${Act} run=${sync}>${t('templates.sync')}<//>`}>
      ${synced && html`<p class="notice good">${t('templates.synced', synced)}</p>`}
      <${Field} id="template-name" label=${t('templates.filter')} value=${name} autocomplete="off" spellcheck=${false}
        maxlength="512"
        onInput=${event => setName(event.target.value)} />
      <${Rows} of=${list} caption=${t('menu.templates')} columns=${columns()} empty=${t('templates.empty')} />
    <//>`
}
