// Shows the money of a parcel and of a merchant, for their screens.
import { Act } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm, Form } from '../../kit/form.js'
import { companyMoney, named, smallest, t } from '../../kit/i18n.js'
import { lineColumns } from '../../kit/money.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Facts, Live, Panel, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'
import { Statement } from './statement.js'

export const reasonField = () => ({ name: 'reason', label: t('failures.reason'), required: true, maxlength: 500 })
export const valueField = () => ({ name: 'value_reason', label: t('money.value_reason'), maxlength: 500 })

/** Shows who made a row of a list, and when. */
export const madeColumn = () =>
  column(
    t('payout.made_by'),
    row => html`<${Two} first=${row.made_by} second=${html`<${Time} at=${row.made_at} />`} />`,
  )

/** Shows where the money of a parcel is, each of its lines, and the form to compensate for its loss. */
export const ParcelMoney = ({ order }) => {
  const waybill = order.waybill_number
  const path = `/order/${encodeURIComponent(waybill)}`
  const found = useLive(signal => callOrders(`${path}/money`, { signal }), 0, [waybill, order.status.key])
  const toBody = ({ amount, ...entered }) => {
    const body = Object.fromEntries(Object.entries(entered).filter(([, value]) => value !== ''))
    return { ...body, waybill_number: waybill, amount: Number(amount) }
  }
  const amount = {
    name: 'amount',
    label: t('cash.amount'),
    type: 'number',
    min: smallest(),
    step: smallest(),
    required: true,
  }
  const isDelivered = found.data?.data.lines.some(line => line.kind === 'delivered')
  const delivered = { name: 'delivered_reason', label: t('money.delivered_reason'), maxlength: 500 }
  return html`<${Panel} title=${t('menu.money')}>
    <${Live} of=${found} lines=${2}>${({ data }) => html`
      <p><${Badge}>${named('money', data.state)}<//> ${
        data.invoice_no && html`<a href=${`#/invoices/${encodeURIComponent(data.invoice_no)}`}>${data.invoice_no}</a>`
      }</p>
      ${
        data.lines.length > 0 &&
        html`<${Table} caption=${t('menu.money')} columns=${lineColumns()}
        rows=${data.lines.map((line, id) => ({ ...line, id }))} />`
      }`}<//>
    ${
      may('compensateParcel') &&
      html`<${FoldedForm} title=${t('money.compensate')} id="compensation"
      fields=${[amount, reasonField(), valueField(), ...(isDelivered ? [delivered] : [])]}
      path="/compensation" toBody=${toBody} onDone=${found.reload} />`
    }
  <//>`
}

const places = ['balance', 'payable_now', 'with_riders', 'at_office', 'banked', 'waiting', 'held']

/** Shows how much the company owes a merchant, and the account to which it pays. */
export const MerchantMoney = ({ id }) => {
  const path = `/merchant/${encodeURIComponent(id)}`
  const balance = useLive(signal => callOrders(`${path}/balance`, { signal }), 0, [id])
  return html`<h1 tabindex="-1">${t('money.balance')}</h1>
    <p><a href="#/merchants">${t('menu.merchants')}</a> · <a href=${`#/invoices?merchant_id=${id}`}>
      ${t('menu.invoices')}</a></p>
    <${Panel} title=${t('money.balance')}>
      <${Live} of=${balance} lines=${7}>${({ data }) => html`
        <${Facts} of=${Object.fromEntries(places.map(name => [t(`money.${name}`), companyMoney(data[name])]))} />
        ${
          data.held_for.length > 0 &&
          html`<ul class="plain">
          ${data.held_for.map(
            row => html`<li key=${`${row.waybill_number} ${row.line_no}`}>
            <${ParcelLink} waybill=${row.waybill_number} /> ${companyMoney(row.amount)} ${row.reason}</li>`,
          )}</ul>`
        }`}<//>
    <//>
    ${may('getMerchantAccount') && html`<${Statement} key=${id} id=${id} />`}
    ${may('getBankAccount') && html`<${Account} path=${`${path}/bank-account`} />`}`
}

/** Shows the account that a second person is to check, then asks for its whole number. */
const Confirm = ({ path, onDone }) => {
  const [seen, setSeen] = useState(/** @type {any} */ (null))
  const see = async () => setSeen((await callOrders(`${path}/details`)).data)
  if (!seen) return html`<div class="row"><${Act} run=${see}>${t('account.see')}<//></div>`
  const shown = ['bank', 'branch', 'holder', 'number'].map(name => [t(`account.${name}`), seen[name]])
  const number = { name: 'number', label: t('account.retype'), hint: t('account.retype_hint') }
  return html`<${Facts} of=${Object.fromEntries(shown)} />
    <${Form} id="confirm" fields=${[{ ...number, required: true, maxlength: 34 }]} submit=${t('account.confirm')}
      path=${`${path}/confirm`} toBody=${entered => ({ ...entered, version: seen.version })} onDone=${onDone} />`
}

const Account = ({ path }) => {
  const account = useLive(signal => callOrders(path, { signal }), 0, [path])
  const toBody = ({ branch, ...body }) => ({ ...body, ...(branch && { branch }) })
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
            data.objected_at
              ? html`<p class="notice">${t('account.objected', { reason: data.objection })}</p>`
              : data.confirmed_by
                ? html`<p>${t('account.confirmed', { by: data.confirmed_by })} <${Time} at=${data.usable_at} /></p>`
                : may('confirmBankAccount') &&
                  html`<${Confirm} key=${data.version} path=${path} onDone=${account.reload} />`
          }`
        : html`<p class="empty">${t('account.none')}</p>`}<//>
    <${FoldedForm} title=${t('account.change')} hint=${t('account.hint')} id="account" fields=${fields}
      submit=${t('edit.save')} path=${path} toBody=${toBody} onDone=${account.reload} />
  <//>`
}
