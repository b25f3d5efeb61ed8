import { Act } from '../../kit/actions.js'
import { Form, findMerchants, usePost } from '../../kit/form.js'
import { companyMoney, named, smallest, t } from '../../kit/i18n.js'
import { Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Panel, ParcelLink, Two } from '../../kit/ui.js'
import { madeColumn, reasonField, valueField } from './money.js'

const badges = { waiting: 'warn', approved: 'good' }

/** Shows the state of an entry at `path`, and offers the decision. The person who made it may only reject it. */
export const Decision = ({ of: { state, decided_by }, path, needs, onDone, children = undefined }) => {
  const post = usePost()
  const decide = step => () => post(`${path}/${step}`, {}).then(onDone)
  return html`<div><${Badge} kind=${badges[state] ?? 'neutral'}>
      ${state === 'waiting' ? t('correction.waiting') : named('invoice', state)}<//> ${decided_by}
    ${
      state === 'waiting' &&
      may(needs) &&
      html`<div class="row">
      <${Act} kind="primary" run=${decide('approve')}>${t('invoice.approve')}<//>
      <${Act} run=${decide('reject')}>${t('invoice.reject')}<//></div>`
    }${children}</div>`
}

const columns = onDone => [
  column(t('money.line'), row => html`<${Two} first=${named('money', row.kind)} second=${row.reason} />`),
  column(
    t('merchant'),
    row => html`<${Two} first=${row.merchant_name}
      second=${row.waybill_number ? html`<${ParcelLink} waybill=${row.waybill_number} />` : row.invoice_no} />`,
  ),
  column(t('cash.amount'), row => companyMoney(row.amount), 'number'),
  madeColumn(),
  column(
    t('status'),
    row => html`<${Decision} of=${row} path=${`/ledger/correction/${row.correction_id}`} needs="approveCorrection"
      onDone=${onDone} />`,
  ),
]

const merchant = () => ({ name: 'merchant_id', label: t('merchant'), find: findMerchants, required: true })
const parcel = () => ({ name: 'waybill_number', label: t('find.waybill'), required: true, maxlength: 50 })
const subjects = {
  collection: parcel,
  compensation: parcel,
  write_off: merchant,
  payment_received: merchant,
  opening_balance: merchant,
  charges: parcel,
  returned_transfer: () => ({ name: 'invoice_no', label: t('invoice.no'), required: true, maxlength: 100 }),
}

const charges = ['delivery', 'cod_fee', 'return_fee', 'weight']

/** Shows the form of a correction, whose fields depend on its kind. */
const Make = ({ onDone }) => {
  const [kind, setKind] = useState('collection')
  const options = Object.keys(subjects).map(id => ({ id, label: t(`money.${id}`) }))
  const amount = { name: 'amount', label: t('cash.amount'), type: 'number', step: smallest(), required: true }
  const toCharge = name => ({
    ...{ ...amount, name, label: t(`correction.${name}`), required: false },
    hint: name === 'delivery' ? t('correction.charges_hint') : '',
  })
  const fields = [
    { name: 'kind', label: t('correction.kind'), options },
    subjects[kind](),
    ...(['returned_transfer', 'charges'].includes(kind) ? [] : [{ ...amount, hint: t('correction.hint') }]),
    ...(kind === 'charges' ? charges.map(toCharge) : []),
    ...(kind === 'payment_received'
      ? [{ name: 'bank_reference', label: t('invoice.reference'), required: true, maxlength: 500 }]
      : []),
    reasonField(),
    ...(kind === 'compensation' ? [valueField()] : []),
  ]
  const toBody = entered => {
    const isShown = ([name, value]) => value !== '' && fields.some(field => field.name === name)
    const shown = Object.entries({ ...entered, kind }).filter(isShown)
    return Object.fromEntries(
      shown.map(([name, value]) => [
        name,
        ['amount', 'merchant_id', ...charges].includes(name) ? Number(value) : value,
      ]),
    )
  }
  return html`<p class="hint">${t('correction.second')}</p>
    <${Form} id="correction" fields=${fields} start=${{ kind }} submit=${t('correction.make')}
      path="/ledger/correction" toBody=${toBody} onDone=${onDone} onEnter=${next => setKind(next.kind ?? kind)} />`
}

/** Shows corrections of the books, and lets a second person decide on them. */
export const Corrections = () => {
  const list = usePages('/ledger/correction')
  return html`<h1 tabindex="-1">${t('menu.corrections')}</h1>
    ${may('makeCorrection') && html`<${Panel} title=${t('correction.make')}><${Make} onDone=${list.reload} /><//>`}
    <${Panel} title=${t('menu.corrections')}>
      <${Rows} of=${list} caption=${t('menu.corrections')} columns=${columns(list.reload)} id="correction_id"
        empty=${t('empty')} /><//>`
}
