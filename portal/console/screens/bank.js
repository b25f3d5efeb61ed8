import { Button } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { companyMoney, named, number, smallest, t } from '../../kit/i18n.js'
import { Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { column, Live, Panel, Table, Two, useLive } from '../../kit/ui.js'
import { Decision } from './corrections.js'
import { madeColumn, reasonField } from './money.js'

const kinds = ['bank_fee', 'direct_debit', 'cash_found', 'cash_written_off']
const isOffice = /** @type {(account: string) => boolean} */ account => /^(tax|withholding)(:|$)/.test(account)

/** Reads the accounts of taxes, as choices with what each holds; without the books, the two that every company has. */
const useOffices = () => {
  const { data, error, reload } = useLive(async signal =>
    may('listAccounts') ? callOrders('/ledger/accounts?limit=200', { signal }) : { data: [] },
  )
  const rows = data?.data.filter(row => isOffice(row.account)) ?? []
  const withBalances = rows.map(row => ({ id: row.account, label: `${row.account} (${companyMoney(-row.balance)})` }))
  // Choices that are replaced while a person chooses would mislead.
  const others = data || error ? ['tax', 'withholding'].map(id => ({ id, label: id })) : []
  return { reload, options: withBalances.length > 0 ? withBalances : others }
}

/** Shows the form of an entry, whose fields depend on its kind. `start` holds the opposite of an entry to correct. */
const Make = ({ start, offices, onDone }) => {
  const [kind, setKind] = useState(start.kind ?? 'bank_fee')
  const all = [...(may('makeBankEntry') ? kinds : []), ...(may('remitTax') ? ['remitted'] : [])]
  const isRemitted = kind === 'remitted'
  const text = { required: true, maxlength: 500 }
  const fields = [
    { name: 'kind', label: t('bank.kind'), options: all.map(id => ({ id, label: t(`bank.${id}`) })) },
    ...(isRemitted
      ? [{ name: 'account', label: t('bank.account'), options: offices, none: t('message.choose'), ...text }]
      : []),
    { name: 'amount', label: t('cash.amount'), type: 'number', step: smallest(), required: true, hint: t('bank.hint') },
    ...(kind === 'cash_written_off' ? [] : [{ name: 'bank_reference', label: t('invoice.reference'), ...text }]),
    isRemitted ? { name: 'office_reference', label: t('bank.office_reference'), ...text } : reasonField(),
  ]
  const toBody = entered => {
    const given = { ...start, ...entered, kind }
    const shown = fields.filter(({ name }) => !(isRemitted && name === 'kind')).map(({ name }) => [name, given[name]])
    return { ...Object.fromEntries(shown), amount: Number(given.amount) }
  }
  return html`<${Form} id="bank-entry" fields=${fields} start=${{ ...start, kind }} submit=${t('bank.make')}
    path=${isRemitted ? '/ledger/remit' : '/ledger/bank-entry'} toBody=${toBody} onDone=${onDone}
    onEnter=${next => setKind(next.kind ?? kind)} />`
}

/** Returns the values of the entry that takes another back; the bank's reference is its own. */
const toOpposite = ({ kind, debit, amount, office_reference }) => ({
  ...(isOffice(debit) ? { kind: 'remitted', account: debit } : { kind }),
  ...{ amount: String(-amount), office_reference },
})

const columns = (onDone, onCorrect) => [
  column(
    t('money.line'),
    row =>
      html`<${Two} first=${named('bank', row.kind)} second=${row.reason ?? `${row.debit}: ${row.office_reference}`} />`,
  ),
  column(t('invoice.reference'), row => row.bank_reference),
  column(t('cash.amount'), row => companyMoney(row.amount), 'number'),
  madeColumn(),
  column(
    t('status'),
    row => html`<${Decision} of=${row} path=${`/ledger/bank-entry/${row.entry_id}`} needs="approveBankEntry"
      onDone=${onDone}>${
        row.state === 'approved' &&
        may('makeBankEntry') &&
        html`<div class="row"><${Button} onClick=${() => onCorrect(row)}>${t('bank.take_back')}<//></div>`
      }<//>`,
  ),
]

/** Lists the rates of one kind, each with its name and conditions. */
const toRates = (/** @type {string} */ kind, table, percent) =>
  (table ?? (percent ? [{ name: '', rates: [{ percent }] }] : [])).flatMap(({ name, on_top_of: below, rates }) =>
    rates.map(({ percent, from, goods, registered, payment }) => {
      const merchant = registered === undefined ? undefined : t(`taxes.registered_${registered}`)
      const parcels = [goods, merchant, payment && t(`taxes.${payment}`)].filter(Boolean).join(', ')
      return { name: `${t(kind)} ${name}`, below, percent, from, parcels: parcels || t('taxes.any') }
    }),
  )

/** Shows the rates of taxes and withholdings, as the company file has them. */
const Taxes = () => {
  const read = useLive(signal => callOrders('/ledger/taxes', { signal }))
  const columns = [
    column(t('taxes'), ({ name, below }) => {
      const second = below && t('taxes.on_top_of', { names: below.join(', ') })
      return html`<${Two} first=${name} second=${second} />`
    }),
    column('%', row => number(row.percent), 'number'),
    column(t('taxes.from'), row => row.from),
    column(t('today.parcels'), row => row.parcels),
  ]
  return html`<${Panel} title=${t('taxes')}><${Live} of=${read}>${({ data }) => {
    const taxes = toRates('taxes.tax', data.taxes, data.tax_percent)
    const rows = [...taxes, ...toRates('taxes.withholding', data.withholding, data.withholding_percent)]
    return html`<${Table} caption=${t('taxes')} columns=${columns} rows=${rows.map((row, id) => ({ ...row, id }))}
      empty=${t('empty')} /><p class="soft">${t('taxes.note')}</p>`
  }}<//><//>`
}

/** Shows what a bank statement has beside deposits and payments of merchants, and the form to enter it. */
export const Bank = () => {
  const list = usePages('/ledger/bank-entry')
  const offices = useOffices()
  const [start, setStart] = useState(/** @type {Record<string, any>} */ ({}))
  const reload = () => {
    setStart({})
    list.reload()
    offices.reload()
  }
  const correct = row => {
    setStart({ ...toOpposite(row), entry: row.entry_id })
    document.getElementById('bank-form')?.focus()
  }
  return html`<h1 tabindex="-1">${t('menu.bank')}</h1>
    ${
      may('makeBankEntry') &&
      html`<${Panel} id="bank-form" title=${t('bank.make')}>
      <${Make} key=${start.entry} start=${start} offices=${offices.options} onDone=${reload} /><//>`
    }
    <${Panel} title=${t('bank.entries')}>
      <${Rows} of=${list} caption=${t('bank.entries')} columns=${columns(reload, correct)} id="entry_id"
        empty=${t('empty')} /><//>
    ${may('getTaxes') && html`<${Taxes} />`}`
}
