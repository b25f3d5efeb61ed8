import { Act, announced } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Invitation, Sessions } from '../../kit/sessions.js'
import { Badge, column, Panel, Time, Two, useLive } from '../../kit/ui.js'

const roles = ['viewer', 'dispatcher', 'messenger', 'accounts', 'admin', 'rider']
const roleFields = () => roles.map(role => ({ name: role, label: t(`role.${role}`), type: 'checkbox' }))
const readRoles = (/** @type {Record<string, string>} */ entered) => roles.filter(role => entered[role] === 'true')

/** Shows what an admin does with one person. @param {{ person: any, change: any, onLink: any }} props */
const Person = ({ person, change, onLink }) => {
  const path = `/people/${person.id}`
  const post = (/** @type {string} */ what) => callOrders(`${path}/${what}`, { method: 'POST', body: {} })
  const start = Object.fromEntries(person.roles.map(role => [role, 'true']))
  const save = async (/** @type {Record<string, string>} */ entered) =>
    change(person.id, { roles: readRoles({ ...start, ...entered }) })
  return html`<${Panel} title=${person.name}><div class="stack">
    <${Form} id=${`roles-${person.id}`} fields=${roleFields()} start=${start} submit=${t('people.save_roles')}
      send=${save} />
    <div class="row"><${Act} run=${async () => onLink((await post('invite')).data)}>${t('invitation.invite')}<//>
      <${Act} question=${t('sure')} run=${() => announced(callOrders(`${path}/reset`, { method: 'POST' }))}>
        ${t('people.reset')}<//></div>
    <${Sessions} path=${path} title=${t('people.sessions', { name: person.name })} /></div><//>`
}

const Everybody = () => {
  const people = useLive(signal => callOrders('/people', { signal }))
  const [chosen, setChosen] = useState('')
  const [link, setLink] = useState(/** @type {any} */ (undefined))
  const change = async (/** @type {string} */ id, /** @type {object} */ body) => {
    await callOrders(`/people/${id}`, { method: 'PATCH', body })
    people.reload()
  }
  const columns = [
    column(t('name'), ({ name, email }) => html`<${Two} first=${name} second=${email} />`),
    column(t('people.roles'), row =>
      row.is_active
        ? row.roles.map(role => t(`role.${role}`)).join(', ')
        : html`<${Badge} kind="warn">${t('people.inactive')}<//>`,
    ),
    column(t('people.last'), ({ last_in_at: at, invited_until }) =>
      at ? html`<${Time} at=${at} />` : invited_until && t('people.invited'),
    ),
    column(
      '',
      ({ id, is_active }) => html`<div class="row">
        <${Act} question=${t('sure')} run=${() => change(id, { is_active: !is_active })}>
          ${t(is_active ? 'people.deactivate' : 'people.reactivate')}<//>
        ${is_active && html`<${Act} run=${async () => setChosen(id)}>${t('people.more')}<//>`}</div>`,
    ),
  ]
  const fields = [
    { name: 'name', label: t('name'), maxlength: 100, required: true },
    { name: 'email', label: t('sign_in.email'), type: 'email', maxlength: 255, required: true },
    ...roleFields(),
  ]
  const add = async (/** @type {Record<string, string>} */ { name, email, ...entered }) => {
    const body = { name, email, roles: readRoles(entered) }
    setLink((await callOrders('/people', { method: 'POST', body })).invitation)
    people.reload()
  }
  const person = people.data?.data.find(({ id }) => id === chosen)
  return html`<${Panel} title=${t('menu.people')}>
      <${Rows} of=${people} caption=${t('menu.people')} columns=${columns} />
      ${link && html`<${Invitation} invitation=${link} />`}
      <${Form} id="member" fields=${fields} submit=${t('people.add')} send=${add} /><//>
    ${person && html`<${Person} key=${chosen} person=${person} change=${change} onLink=${setLink} />`}`
}

/** Shows where the person is signed in and, to admins, the members of staff. */
export const People = ({ title }) => html`
  <h1 tabindex="-1">${title}</h1>${may('listStaffPeople') && html`<${Everybody} />`}<${Sessions} />`
