import { orders } from '../../kit/api.js'
import { Form, usePost } from '../../kit/form.js'
import { money, number, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { getSession, may } from '../../kit/session.js'
import { Badge, Button, column, Live, Panel, Table, Time, useLive } from '../../kit/ui.js'

const sum = (/** @type {number} */ amount) => money(amount, getSession().me?.tenant.currency ?? '')
const since = (/** @type {string | null} */ at) => at && html`<${Time} at=${at} />`
const amountField = { type: 'number', min: '0', step: '0.01', required: true }

const people = onChosen => [
  column(t('cash.person'), row => row.name),
  column(t('cash.parcels'), row => number(row.parcels), 'number'),
  column(
    t('cash.amount'),
    row => html`${sum(row.amount)} ${row.above_ceiling && html`<${Badge} kind="warn">${t('cash.above')}<//>`}`,
    'number',
  ),
  column(t('cash.debt'), row => (row.debt === 0 ? '' : sum(row.debt)), 'number'),
  column(t('cash.since'), row => since(row.since)),
  column(
    t('cash.hand_over'),
    row => may('handOverCash') && html`<${Button} onClick=${() => onChosen(row)}>${t('cash.hand_over')}<//>`,
  ),
]

/** Takes what a person holds and owes. A handover whose sums differ stays open. */
const HandOver = ({ person, onDone }) => {
  const post = usePost()
  const total = person ? person.amount + person.debt : 0
  const start = { collected_by: person?.name ?? '', declared: total ? String(total) : '', counted: '' }
  const fields = [
    { name: 'collected_by', label: t('cash.person'), required: true, maxlength: 200 },
    { name: 'declared', label: t('cash.declared'), ...amountField },
    { name: 'counted', label: t('cash.counted'), ...amountField },
    { name: 'note', label: t('moves.note'), maxlength: 500 },
  ]
  const send = async entered => {
    const { note, ...given } = { ...start, ...entered }
    const body = { ...given, declared: Number(given.declared), counted: Number(given.counted), ...(note && { note }) }
    onDone((await post('/api/staff/cash/handover', body)).data)
  }
  return html`<${Form} id="handover" fields=${fields} start=${start} submit=${t('cash.hand_over')} send=${send} />`
}

const Open = ({ handover, onDone }) => {
  const post = usePost()
  const ways = ['owed', 'written_off'].map(id => ({ id, label: t(`cash.${id}`) }))
  const fields = [
    { name: 'settle_as', label: t('cash.settle_as'), options: ways, none: t('message.choose'), required: true },
    { name: 'reason', label: t('edit.reason'), required: true, maxlength: 500 },
  ]
  const send = async body => {
    await post(`/api/staff/cash/handover/${handover.handover_id}/settle`, body)
    onDone()
  }
  const { collected_by: name, expected, declared, counted, taken_by: by } = handover
  const sums = { name, expected: sum(expected), declared: sum(declared), counted: sum(counted), by }
  return html`<li class="notice"><p>${t('cash.differs', sums)}</p>
    <${Form} id=${`settle-${handover.handover_id}`} fields=${fields} submit=${t('cash.settle')} send=${send} /></li>`
}

/** Brings the office's cash to the bank. */
const DepositCash = ({ office, onDone }) => {
  const post = usePost()
  const start = { amount: String(office.amount) }
  const fields = [
    { name: 'amount', label: t('cash.amount'), ...amountField },
    { name: 'bank_reference', label: t('invoice.reference'), required: true, maxlength: 500 },
  ]
  const send = async entered => {
    const body = { ...start, ...entered }
    await post('/api/staff/cash/deposit', { ...body, amount: Number(body.amount) })
    onDone()
  }
  return html`<${Form} id="deposit" fields=${fields} start=${start} submit=${t('cash.deposit')} send=${send} />`
}

/** Shows who holds how much cash, and its way to the bank. */
export const Cash = () => {
  const cash = useLive(signal => orders('/api/staff/cash', { signal }), 30)
  const open = useLive(signal => orders('/api/staff/cash/handover?state=open', { signal }), 30)
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
      <ul class="plain stack">${open.data.data.map(row => html`<${Open} key=${row.handover_id} handover=${row} onDone=${onDone} />`)}</ul><//>`
    }
    <${Panel} title=${t('cash.people')}>
      <${Live} of=${cash} lines=${5}>${({ data }) => html`
        <${Table} caption=${t('cash.people')} columns=${people(choose)} rows=${data.people.map(row => ({ ...row, id: row.name }))} empty=${t('cash.nobody')} />`}<//>
    <//>
    <${Panel} id="cash-form" title=${t('cash.hand_over')}><${HandOver} key=${person?.name} person=${person} onDone=${onDone} /><//>
    <${Panel} title=${t('cash.office')}>
      <${Live} of=${cash} lines=${3}>${({ data: { office, clearing } }) => html`
        <p>${t('cash.lies', { parcels: number(office.parcels), amount: sum(office.amount) })}</p>
        ${clearing.parcels > 0 && html`<p class="soft">${t('cash.clearing', { parcels: number(clearing.parcels), amount: sum(clearing.amount) })}</p>`}
        ${office.amount > 0 && html`<${DepositCash} key=${office.amount} office=${office} onDone=${onDone} />`}`}<//>
    <//>`
}
