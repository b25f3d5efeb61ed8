// The money of a parcel and of a merchant, for their screens.
import { orders } from '../../kit/api.js'
import { Form, usePost } from '../../kit/form.js'
import { money, named, t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { getSession, may } from '../../kit/session.js'
import { Badge, column, Live, Panel, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'

const sum = (/** @type {number} */ amount) => money(amount, getSession().me?.tenant.currency ?? '')

/** Columns of lines, of a parcel or of an invoice. */
export const lineColumns = () => [
  column(t('money.line'), row => html`<${Two} first=${named('money', row.kind)} second=${row.booked_on} />`),
  column(t('money.collected'), row => sum(row.collected), 'number'),
  column(
    t('money.charges'),
    row => sum(row.delivery + row.cod_fee + row.return_fee + row.tax + row.withholding),
    'number',
  ),
  column(t('money.other'), row => sum(row.compensation + row.adjustment - row.held), 'number'),
  column(t('money.net'), row => sum(row.net), 'number'),
]

const reason = () => ({ name: 'reason', label: t('edit.reason'), required: true, maxlength: 500 })

/** Shows where the money of a parcel is, each line of it, and what corrects it. */
export const ParcelMoney = ({ order, onTakenBack }) => {
  const waybill = order.waybill_number
  const path = `/api/staff/order/${encodeURIComponent(waybill)}`
  const found = useLive(signal => orders(`${path}/money`, { signal }), 0, [waybill])
  const post = usePost()
  const takeBack = async body => {
    await post(`${path}/take-back`, body)
    onTakenBack()
  }
  const compensate = async ({ amount, ...body }) => {
    await post('/api/staff/compensation', { ...body, waybill_number: waybill, amount: Number(amount) })
    found.reload()
  }
  const amount = { name: 'amount', label: t('cash.amount'), type: 'number', min: '0.01', step: '0.01', required: true }
  return html`<${Panel} title=${t('money')}>
    <${Live} of=${found} lines=${2}>${({ data }) => html`
      <p><${Badge}>${named('money', data.state)}<//> ${data.invoice_no && html`<a href=${`#/invoices/${encodeURIComponent(data.invoice_no)}`}>${data.invoice_no}</a>`}</p>
      ${data.lines.length > 0 && html`<${Table} caption=${t('money')} columns=${lineColumns()} rows=${data.lines.map((line, id) => ({ ...line, id }))} />`}`}<//>
    ${
      may('takeBackMove') &&
      html`<details><summary>${t('money.take_back')}</summary>
      <${Form} id="take-back" fields=${[reason()]} submit=${t('money.take_back')} send=${takeBack} /></details>`
    }
    ${
      may('compensateParcel') &&
      html`<details><summary>${t('money.compensate')}</summary>
      <${Form} id="compensation" fields=${[amount, reason()]} submit=${t('money.compensate')} send=${compensate} /></details>`
    }
  <//>`
}

const places = ['balance', 'payable_now', 'with_riders', 'at_office', 'banked', 'waiting', 'held']

/** Shows what a merchant is owed, and where it is paid. */
export const MerchantMoney = ({ id }) => {
  const path = `/api/staff/merchant/${encodeURIComponent(id)}`
  const balance = useLive(signal => orders(`${path}/balance`, { signal }), 0, [id])
  return html`<h1 tabindex="-1">${t('money.balance')}</h1>
    <p><a href="#/merchants">${t('menu.merchants')}</a> · <a href=${`#/invoices?merchant_id=${id}`}>${t('menu.invoices')}</a></p>
    <${Panel} title=${t('money.balance')}>
      <${Live} of=${balance} lines=${7}>${({ data }) => html`
        <dl class="details">${places.map(name => html`<div key=${name}><dt>${t(`money.${name}`)}</dt><dd>${sum(data[name])}</dd></div>`)}</dl>
        ${data.held_for.length > 0 && html`<ul class="plain">${data.held_for.map(row => html`<li key=${row.waybill_number}><${ParcelLink} waybill=${row.waybill_number} /> ${sum(row.amount)} ${row.reason}</li>`)}</ul>`}`}<//>
    <//>
    ${may('getBankAccount') && html`<${Account} path=${`${path}/bank-account`} />`}`
}

const Account = ({ path }) => {
  const account = useLive(signal => orders(path, { signal }), 0, [path])
  const post = usePost()
  const change = async ({ branch, ...body }) => {
    await post(path, { ...body, ...(branch && { branch }) })
    account.reload()
  }
  const confirm = async body => {
    await post(`${path}/confirm`, body)
    account.reload()
  }
  const fields = ['bank', 'branch', 'holder', 'number'].map(name => ({
    name,
    label: t(`account.${name}`),
    required: name !== 'branch',
    maxlength: 100,
  }))
  return html`<${Panel} title=${t('account')}>
    <${Live} of=${account} lines=${2}>${({ data }) =>
      data
        ? html`<p>…${data.last_four} <span class="soft">${data.changed_by}, <${Time} at=${data.changed_at} /></span></p>
          ${
            data.confirmed_by
              ? html`<p>${t('account.confirmed', { by: data.confirmed_by })} <${Time} at=${data.usable_at} /></p>`
              : html`<${Form} id="confirm" fields=${[{ name: 'last_four', label: t('account.last_four'), required: true, maxlength: 4 }]} submit=${t('account.confirm')} send=${confirm} />`
          }`
        : html`<p class="empty">${t('account.none')}</p>`}<//>
    <details><summary>${t('account.change')}</summary><p class="hint">${t('account.hint')}</p>
      <${Form} id="account" fields=${fields} submit=${t('edit.save')} send=${change} /></details>
  <//>`
}
