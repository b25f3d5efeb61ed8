import { Button } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm, Form } from '../../kit/form.js'
import { companyMoney, number, smallest, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { choiceColumn, useSelection } from '../../kit/selection.js'
import { getSession, may } from '../../kit/session.js'
import { Badge, column, Live, Panel, Table, Time, useLive } from '../../kit/ui.js'
import { People } from '../people.js'
import { reasonField } from './money.js'

const amountField = () => ({ type: 'number', min: '0', step: smallest(), required: true })
const personField = { required: true, maxlength: 200, list: 'people' }

const people = onChosen => [
  column(t('cash.person'), row => row.name),
  column(t('today.parcels'), row => number(row.parcels), 'number'),
  column(
    t('cash.amount'),
    row => html`${companyMoney(row.amount)} ${row.above_ceiling && html`<${Badge} kind="warn">${t('cash.above')}<//>`}`,
    'number',
  ),
  column(t('cash.debt'), row => (row.debt === 0 ? '' : companyMoney(row.debt)), 'number'),
  column(t('cash.since'), row => row.since && html`<${Time} at=${row.since} />`),
  column(
    t('cash.hand_over'),
    row => may('handOverCash') && html`<${Button} onClick=${() => onChosen(row)}>${t('cash.hand_over')}<//>`,
  ),
]

/** Shows a form to hand over the cash that a person holds and owes. A handover whose sums differ stays open. */
const HandOver = ({ person, onDone }) => {
  const total = person ? Number((person.amount + person.debt).toFixed(getSession().me?.tenant.decimals)) : 0
  const start = { collected_by: person?.name ?? '', declared: total ? String(total) : '', counted: '' }
  const fields = [
    { name: 'collected_by', label: t('cash.person'), ...personField },
    { name: 'declared', label: t('cash.declared'), ...amountField() },
    { name: 'counted', label: t('cash.counted'), ...amountField() },
    { name: 'note', label: t('moves.note'), maxlength: 500 },
  ]
  const toBody = entered => {
    const { note, ...given } = { ...start, ...entered }
    return { ...given, declared: Number(given.declared), counted: Number(given.counted), ...(note && { note }) }
  }
  return html`<${Form} id="handover" fields=${fields} start=${start} submit=${t('cash.hand_over')}
    path="/cash/handover" toBody=${toBody} onDone=${onDone} />`
}

/** Shows a form that moves all the cash of a person to another. */
const Transfer = ({ person, onDone }) => {
  const fields = [
    { name: 'from', label: t('cash.from'), ...personField },
    { name: 'to', label: t('cash.to'), ...personField },
  ]
  const start = { from: person?.name ?? '', to: '' }
  return html`<${FoldedForm} title=${t('cash.transfer')} id="transfer" fields=${fields} start=${start}
    path="/cash/transfer" toBody=${entered => ({ ...start, ...entered })} onDone=${onDone} />`
}

const Open = ({ handover, onDone }) => {
  const options = ['owed', 'written_off'].map(id => ({ id, label: t(`cash.${id}`) }))
  const fields = [
    { name: 'settle_as', label: t('requests.decision'), options, none: t('message.choose'), required: true },
    reasonField(),
  ]
  const { handover_id: id, collected_by: name, expected, declared, counted, taken_by: by } = handover
  const sums = {
    name,
    expected: companyMoney(expected),
    declared: companyMoney(declared),
    counted: companyMoney(counted),
    by,
  }
  return html`<li class="notice"><p>${t('cash.differs', sums)}</p>
    <${Form} id=${`settle-${id}`} fields=${fields} submit=${t('cash.settle')} path=${`/cash/handover/${id}/settle`}
      onDone=${onDone} /></li>`
}

const parcels = selection => [
  choiceColumn(selection),
  column(t('find.waybill'), row => row.waybill_number),
  column(t('cash.amount'), row => companyMoney(row.amount), 'number'),
  column(t('collect.method'), row => row.method),
  column(t('cash.since'), row => html`<${Time} at=${row.since} />`),
]

/** Lets a person choose the parcels of a deposit, once they open the list. */
const ChooseParcels = ({ selection }) => {
  const unbanked = useLive(signal => callOrders('/cash/parcel', { signal }))
  return html`<${Live} of=${unbanked} lines=${3}>${({ data }) => html`
    <${Table} caption=${t('cash.part')} columns=${parcels(selection)} rows=${data} id="waybill_number" />`}<//>`
}

/**
 * Shows a form that records a deposit at the bank: all of the office's cash, as it was when the person began to write,
 * or the money of chosen parcels.
 */
const DepositCash = ({ office, onDone }) => {
  const [begun, setBegun] = useState(/** @type {number | undefined} */ (undefined))
  const [isOpen, setOpen] = useState(false)
  const selection = useSelection()
  const chosen = selection.rows.map(row => row.waybill_number)
  const sum = selection.rows.reduce((total, row) => total + row.amount, 0)
  const start = selection.size > 0 ? Number(sum.toFixed(getSession().me?.tenant.decimals)) : (begun ?? office.amount)
  const fields = [
    { name: 'amount', label: t('cash.amount'), ...amountField() },
    { name: 'bank_reference', label: t('invoice.reference'), required: true, maxlength: 500 },
  ]
  const end = () => {
    setBegun(undefined)
    setOpen(false)
    selection.clear()
    onDone()
  }
  const toBody = ({ amount = start, ...body }) => ({
    ...body,
    amount: Number(amount),
    ...(chosen.length > 0 && { waybill_numbers: chosen }),
  })
  return html`<${Form} id="deposit" key=${chosen.join()} fields=${fields} start=${{ amount: String(start) }}
      submit=${t('cash.deposit')} path="/cash/deposit" toBody=${toBody} onDone=${end}
      onEnter=${() => setBegun(last => last ?? office.amount)} />
    ${
      may('listUnbankedParcels') &&
      html`<details open=${isOpen} onToggle=${({ target }) => setOpen(target.open)}>
        <summary>${t('cash.part')} (${number(selection.size)})</summary>
        ${isOpen && html`<${ChooseParcels} selection=${selection} />`}</details>`
    }`
}

/** Shows who holds how much cash, the cash at the office, and the handovers whose sums differ. */
export const Cash = () => {
  const cash = useLive(signal => callOrders('/cash', { signal }), 30)
  const open = useLive(signal => callOrders('/cash/handover?state=open', { signal }), 30)
  const [person, setPerson] = useState(/** @type {any} */ (undefined))
  const onDone = () => {
    setPerson(undefined)
    cash.reload()
    open.reload()
  }
  const choose = row => {
    setPerson(row)
    document.getElementById('cash-form')?.focus()
  }
  return html`<h1 tabindex="-1">${t('menu.cash')}</h1>
    ${
      open.data?.data.length > 0 &&
      html`<${Panel} title=${t('cash.open')}>
      <ul class="plain stack">${open.data.data.map(
        row => html`<${Open} key=${row.handover_id} handover=${row} onDone=${onDone} />`,
      )}</ul><//>`
    }
    <${Panel} title=${t('cash.people')}>
      <${Live} of=${cash} lines=${5}>${({ data }) => html`
        <${Table} caption=${t('cash.people')} columns=${people(choose)} rows=${data.people} id="name"
          empty=${t('cash.nobody')} />`}<//>
    <//>
    <${Panel} id="cash-form" title=${t('cash.hand_over')}>
      <${HandOver} key=${person?.name} person=${person} onDone=${onDone} />
      ${may('transferCash') && html`<${Transfer} key=${`to ${person?.name}`} person=${person} onDone=${onDone} />`}
      <${People} id="people" /><//>
    <${Panel} title=${t('cash.office')}>
      <${Live} of=${cash} lines=${3}>${({ data: { office, clearing } }) => html`
        <p>${t('cash.lies', { parcels: number(office.parcels), amount: companyMoney(office.amount) })}</p>
        ${
          clearing.parcels > 0 &&
          html`<p class="soft">
          ${t('cash.clearing', { parcels: number(clearing.parcels), amount: companyMoney(clearing.amount) })}</p>`
        }
        ${office.amount + clearing.parcels > 0 && html`<${DepositCash} office=${office} onDone=${onDone} />`}`}<//>
    <//>`
}
