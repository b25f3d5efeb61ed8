import { Act, announced, Button } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { companyDay, fromCompanyTime, t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { getSession, may } from '../../kit/session.js'
import { Invitation, Sessions } from '../../kit/sessions.js'
import { Badge, column, Panel, Secret, Time, Two, useLive } from '../../kit/ui.js'

const toolsUrl = () => new URL(`../mcp/${getSession().tenant}`, document.baseURI).href

const Tokens = () => {
  const list = useLive(signal => callOrders('/token', { signal }))
  const [secret, setSecret] = useState('')
  const add = async (/** @type {Record<string, string>} */ { name, day }) => {
    const body = { name, ...(day && { expires_at: fromCompanyTime(`${day}T23:59:59`) }) }
    setSecret((await announced(callOrders('/token', { method: 'POST', body }))).data.token)
    list.reload()
  }
  const revoke = (/** @type {string} */ id) =>
    announced(callOrders(`/token/${encodeURIComponent(id)}`, { method: 'DELETE' })).then(list.reload)
  const columns = [
    column(t('name'), row => row.name ?? t('access.by_company')),
    column(t('access.created'), row => html`<${Time} at=${row.created_at} />`),
    column(t('access.used'), row => (row.last_used_at ? html`<${Time} at=${row.last_used_at} />` : t('access.never'))),
    column(t('access.expires'), row => (row.expires_at ? companyDay(row.expires_at) : t('access.never'))),
    column('', row => html`<${Act} question=${t('sure')} run=${() => revoke(row.id)}>${t('access.revoke')}<//>`),
  ]
  const fields = [
    { name: 'name', label: t('name'), maxlength: 100, required: true },
    { name: 'day', label: t('access.expires_on'), type: 'date', max: '2999-12-31' },
  ]
  return html`<${Panel} title=${t('access.tokens')}><p class="soft">${t('access.about')}</p>
    ${may('decideAgent') && html`<p class="soft">${t('agent.about')} <code>${toolsUrl()}</code></p>`}
    <${Rows} of=${list} lines=${3} caption=${t('access.tokens')} columns=${columns} empty=${t('access.no_tokens')} />
    ${secret && html`<${Secret} label=${t('access.token')} value=${secret} />`}
    <${Form} id="token" fields=${fields} submit=${t('access.add_token')} send=${add} /><//>`
}

const roles = () => ['clerk', 'owner'].map(id => ({ id, label: t(`access.${id}`) }))
const password = () => ({
  name: 'password',
  label: t('access.password'),
  type: 'password',
  autocomplete: 'new-password',
  minlength: 8,
  maxlength: 255,
  required: true,
})

/** Shows the actions that change a person's role or password, or end or restore their access. */
const PersonActions = ({ person, change, onLink }) => {
  const [isOpen, setIsOpen] = useState(false)
  const turn = person.is_active ? 'deactivate' : 'activate'
  const role = person.role === 'owner' ? 'clerk' : 'owner'
  const send = async (/** @type {object} */ body) => {
    await change(body)
    setIsOpen(false)
  }
  const invite = async () =>
    onLink((await callOrders(`/person/${person.id}/invite`, { method: 'POST', body: {} })).data)
  const reset = () => announced(callOrders(`/person/${person.id}/reset`, { method: 'POST' }))
  return html`<div class="stack"><div class="row">
      ${
        person.is_active &&
        may('invitePerson') &&
        html`<${Act} run=${invite}>${t('invitation.invite')}<//>
      <${Act} question=${t('sure')} run=${reset}>${t('people.reset')}<//>`
      }
      <${Act} run=${() => change({ role })}>${t(`access.make_${role}`)}<//>
      <${Act} question=${t('sure')} run=${() => change({ is_active: !person.is_active })}>
        ${t(`access.${turn}`)}<//>
      <${Button} onClick=${() => setIsOpen(!isOpen)}>${t('access.password')}<//></div>
    ${
      isOpen &&
      html`<${Form} id=${`person-${person.id}`} fields=${[password()]} submit=${t('parcel.save')}
      send=${send} />`
    }</div>`
}

const People = () => {
  const [link, setLink] = useState(/** @type {any} */ (undefined))
  const list = useLive(signal => callOrders('/person', { signal }))
  const send = async (/** @type {string} */ path, /** @type {string} */ method, /** @type {object} */ body) => {
    await announced(callOrders(path, { method, body }))
    list.reload()
  }
  const columns = [
    column(t('name'), row => html`<${Two} first=${row.name} second=${row.email} />`),
    column(
      t('access.role'),
      row =>
        html`<${Badge} kind=${row.is_active ? 'neutral' : 'warn'}>
          ${t(row.is_active ? `access.${row.role}` : 'access.inactive')}<//>`,
    ),
    column(
      '',
      row =>
        row.id !== null &&
        html`<${PersonActions} person=${row} onLink=${setLink}
          change=${body => send(`/person/${row.id}`, 'PATCH', body)} />`,
    ),
  ]
  const fields = [
    { name: 'name', label: t('name'), maxlength: 100, required: true },
    { name: 'email', label: t('field.customer_email'), type: 'email', maxlength: 255, required: true },
    { name: 'role', label: t('access.role'), options: roles() },
    { ...password(), required: !may('invitePerson') },
  ]
  const add = async (/** @type {Record<string, string>} */ { password, ...entered }) => {
    const body = { role: 'clerk', ...entered, ...(password && { password }) }
    const { data } = await announced(callOrders('/person', { method: 'POST', body }))
    list.reload()
    if (!password) setLink((await callOrders(`/person/${data.id}/invite`, { method: 'POST', body: {} })).data)
  }
  return html`<${Panel} title=${t('access.people')}><p class="soft">${t('access.people_about')}</p>
    <${Rows} of=${list} lines=${3} caption=${t('access.people')} columns=${columns} />
    ${link && html`<${Invitation} invitation=${link} />`}
    <${Form} id="person" fields=${fields} start=${{ role: 'clerk' }} submit=${t('access.add_person')}
      send=${add} /><//>`
}

/** Shows the people and the programs that may act for the merchant. */
export const Access = ({ title }) => html`
  <h1 tabindex="-1">${title}</h1>${may('listPeople') && html`<${People} />`}<${Tokens} />
  ${may('listSessions') && html`<${Sessions} />`}`
