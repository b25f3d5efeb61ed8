import { Act, announced, saveFile } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm } from '../../kit/form.js'
import { companyMoney, number, t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { Proofs } from '../../kit/proofs.js'
import { may } from '../../kit/session.js'
import { Qr } from '../../kit/sign-in-links.js'
import { column, Field, Panel, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'

export const readRiders = (/** @type {AbortSignal} */ signal) =>
  may('listRiders') ? callOrders('/riders', { signal }) : Promise.resolve({ data: [] })

/**
 * Gives parcels to a rider or takes them away; shows nothing to who may not. `onDone` runs after either.
 * @param {{ waybills: string[], onDone: (said: string) => unknown }} props
 */
export const GiveTo = ({ waybills, onDone }) => {
  const riders = useLive(readRiders)
  const [rider, setRider] = useState('')
  if (!may('assignParcels')) return null
  const send = async (/** @type {string} */ path, /** @type {object} */ more) => {
    const body = { waybill_numbers: waybills, ...more }
    await announced(callOrders(`/order/${path}`, { method: 'POST', body }))
    onDone(t(`riders.${path}ed`, { count: number(waybills.length) }))
  }
  const active = (riders.data?.data ?? []).filter(({ is_active }) => is_active)
  return html`<details><summary>${t('riders.give')}</summary><div class="stack">
    <${Field} id="give-rider" label=${t('riders.rider')} value=${rider}
      onChange=${event => setRider(event.target.value)}>
      <option value="">${t('message.choose')}</option>
      ${active.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}<//>
    <div class="row"><${Act} kind="primary" disabled=${!rider} run=${() => send('assign', { rider })}>
      ${t('riders.give_all', { count: number(waybills.length) })}<//>
      <${Act} run=${() => send('unassign', {})}>${t('riders.take_away')}<//></div></div></details>`
}

/** Saves the run sheet of what a rider has to deliver. */
const printRunSheet = async (/** @type {{ id: string, name: string }} */ { id, name }) => {
  const query = new URLSearchParams({ rider: id, status_class: 'under_way', per_page: '1000' })
  const { data } = await callOrders(`/order?${query}`)
  const body = { waybill_numbers: data.map(({ waybill_number }) => waybill_number), title: name }
  saveFile(await callOrders('/order/run-sheet', { method: 'POST', body, as: 'blob' }), 'run-sheet.pdf')
}

/** Shows a code that signs a phone in, and where the rider is signed in. @param {{ rider: any }} props */
const SignIns = ({ rider }) => {
  const [link, setLink] = useState(/** @type {any} */ (null))
  const path = `/riders/${rider.id}`
  const phones = useLive(signal => callOrders(`${path}/sign-ins`, { signal }), 10, [rider.id])
  const offer = async () => setLink((await callOrders(`${path}/sign-in`, { method: 'POST' })).data)
  const end = (/** @type {string} */ id) => async () => {
    await announced(callOrders(`${path}/sign-ins/${id}/end`, { method: 'POST' }))
    phones.reload()
  }
  const columns = [
    column(t('riders.phone'), ({ device }) => device ?? t('riders.password')),
    column(t('riders.since'), ({ signed_in_at }) => html`<${Time} at=${signed_in_at} />`),
    column(t('riders.end'), ({ id }) => html`<${Act} run=${end(id)}>${t('riders.end')}<//>`),
  ]
  return html`<${Panel} title=${t('riders.sign_in', { name: rider.name })}>
    ${may('makeSignInLink') && html`<${Act} run=${offer}>${t('riders.show_code')}<//>`}
    ${link && html`<p>${t('riders.scan')}</p><${Qr} rows=${link.qr} />`}
    <${Rows} of=${phones} caption=${t('riders.phones')} columns=${columns} empty=${t('riders.no_phones')} /><//>`
}

const Decide = ({ act, onDone }) => {
  const toBody =
    (/** @type {string} */ decision) =>
    (/** @type {any} */ { amount, ...entered }) => ({
      ...{ ...entered, decision },
      ...(amount && { amount: Number(amount) }),
    })
  const note = { name: 'note', label: t('failures.reason'), required: true, maxlength: 500 }
  const amount = { name: 'amount', label: t('collect.amount'), type: 'number', min: '0', step: 'any' }
  const form = (/** @type {string} */ decision, /** @type {object[]} */ fields) =>
    html`<${FoldedForm} title=${t(`riders.${decision}`)} id=${`${decision}-${act.act_no}`} fields=${fields}
      path=${`/rider-acts/${act.act_no}/decide`} onDone=${onDone} toBody=${toBody(decision)} />`
  return html`<div class="stack">${form('applied', act.kind === 'deliver' ? [note, amount] : [note])}
    ${form('dismissed', [note])}</div>`
}

const RefusedActs = () => {
  const acts = useLive(signal => callOrders('/rider-acts', { signal }), 15)
  const columns = [
    column(t('parcel'), ({ waybill_number }) => html`<${ParcelLink} waybill=${waybill_number} class="whole" />`),
    column(
      t('riders.rider'),
      ({ rider, happened_at }) => html`<${Two} first=${rider}
      second=${html`<${Time} at=${happened_at} />`} />`,
    ),
    column(
      t('riders.act'),
      ({ kind, amount }) => html`<${Two} first=${t(`riders.${kind}`)}
      second=${amount === null ? '' : companyMoney(amount)} />`,
    ),
    column(t('riders.why'), ({ message }) => message),
    column(t('riders.decide'), act => html`<${Decide} act=${act} onDone=${acts.reload} />`),
  ]
  return html`<${Panel} title=${t('riders.refused')}>
    <${Rows} of=${acts} id="act_no" caption=${t('riders.refused')} columns=${columns} empty=${t('riders.none')} /><//>`
}

/** Shows the day of each rider, the acts on which dispatch must decide, and who is signed in. */
export const Riders = () => {
  const riders = useLive(readRiders, 15)
  const [chosen, setChosen] = useState(/** @type {any} */ (null))
  const columns = [
    column(t('riders.rider'), ({ id, name }) => html`<a href=${`#/orders?rider=${id}`}>${name}</a>`),
    column(t('riders.to_do'), row => number(row.to_do), 'number'),
    column(t('riders.done'), row => number(row.done), 'number'),
    column(t('riders.failed'), row => number(row.failed), 'number'),
    column(t('riders.cash'), ({ cash }) => (cash === null ? '' : companyMoney(cash)), 'number'),
    column(t('riders.last'), ({ last_act_at: at }) => at && html`<${Time} at=${at} />`),
    column(
      t('riders.more'),
      row => html`<div class="row">${
        may('listSignIns') &&
        html`<${Act} run=${async () => setChosen(row)}>
        ${t('riders.phones')}<//>`
      }
        ${
          may('printRunSheet') &&
          row.to_do > 0 &&
          html`<${Act} run=${() => printRunSheet(row)}>
        ${t('scan.run_sheet')}<//>`
        }</div>`,
    ),
  ]
  return html`<h1 tabindex="-1">${t('menu.riders')}</h1>
    ${may('listRefusedActs') && html`<${RefusedActs} />`}
    <${Panel} title=${t('riders.day')}><${Rows} of=${riders} caption=${t('riders.day')} columns=${columns}
      empty=${t('riders.nobody')} /><//>
    ${chosen && html`<${SignIns} key=${chosen.id} rider=${chosen} />`}`
}

/** Shows who has a parcel, who had it, and what riders did; nothing where there are no riders. */
export const Carried = ({ order }) => {
  const { rider = null, rider_changes: changes = [], rider_acts: acts = [] } = order
  if (changes.length + acts.length === 0) return null
  const rows = [
    ...changes.map(({ rider: to, former, at, by }, index) => {
      const what = to ? t('riders.given', { name: to }) : t('riders.taken')
      return { id: `c${index}`, at, what, who: former ? `${by} (${t('riders.from', { name: former })})` : by }
    }),
    ...acts.map(({ act_no, kind, rider: who, happened_at, received_at, code, without }) => {
      const isLate = Math.abs(Date.parse(received_at) - Date.parse(happened_at)) > 60_000
      const what = [t(`riders.${kind}`), code && t('riders.refused_one'), without].filter(Boolean).join(' · ')
      return { id: `a${act_no}`, at: received_at, what, who, phone: isLate ? happened_at : null }
    }),
  ].sort((a, b) => (a.at < b.at ? 1 : -1))
  const columns = [
    column(
      t('riders.when'),
      ({ at, phone = null }) =>
        html`<${Time} at=${at} />${
          phone && html`<br /><span class="soft">${t('riders.on_phone')} <${Time} at=${phone} /></span>`
        }`,
    ),
    column(t('riders.act'), ({ what }) => what),
    column(t('riders.by'), ({ who }) => who),
  ]
  return html`<${Panel} title=${t('riders.of_parcel', { name: rider?.name ?? '–' })}>
    <${Table} caption=${t('riders.rider')} columns=${columns} rows=${rows} /><//>
    <${Proofs} waybill=${order.waybill_number} needs="listProofs" inputs=${[acts.length]} />`
}
