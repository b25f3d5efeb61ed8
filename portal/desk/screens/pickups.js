import { Act, announced } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Form, findCities } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { pickupColumns, Receipt, Tickets } from '../../kit/pickups.js'
import { html } from '../../kit/preact.js'
import { column, Panel, Two, useLive } from '../../kit/ui.js'
import { readBusinesses } from '../merchant.js'

const stated = () => ({
  name: 'parcels',
  label: t('pickup.number'),
  type: 'number',
  min: '1',
  max: '10000',
  hint: t('pickup.number_hint'),
})

const remove = (/** @type {string} */ path) => announced(callOrders(path, { method: 'DELETE' }))

/**
 * Asks for a pickup of the parcels in `waybills`, which a person chose among the orders; without them, of all confirmed
 * parcels unless the person states a number. @param {any} props
 */
const Ask = ({ addresses, waybills, onDone }) => {
  const options = addresses.map(({ id, name, city }) => ({ id: String(id), label: `${name}, ${city}` }))
  const usual = addresses.find(({ is_default }) => is_default) ?? addresses[0]
  const fields = [
    { name: 'pickup_address_id', label: t('pickup.where'), options },
    { name: 'day', label: t('pickup.day'), type: 'date', required: true },
    { name: 'from', label: t('pickup.from'), type: 'time' },
    { name: 'to', label: t('pickup.to'), type: 'time' },
    ...(waybills.length > 0 ? [] : [stated()]),
    { name: 'note', label: t('pickup.note'), maxlength: 1000 },
  ]
  const toBody = (/** @type {any} */ { parcels, ...entered }) => ({
    pickup_address_id: String(usual.id),
    ...Object.fromEntries(Object.entries(entered).filter(([, value]) => value)),
    ...(waybills.length > 0 ? { waybill_numbers: waybills } : parcels ? { parcels: Number(parcels) } : { all: true }),
  })
  return html`${waybills.length > 0 && html`<p>${t('pickup.chosen', { waybills: waybills.join(', ') })}</p>`}
    <${Form} id="pickup" fields=${fields} start=${{ pickup_address_id: String(usual.id) }}
    submit=${t('pickup.ask')} path="/pickup" toBody=${toBody} onDone=${onDone} />`
}

const Addresses = ({ list }) => {
  const businesses = useLive(readBusinesses)
  const columns = [
    column(
      t('pickup.address'),
      row => html`<${Two} first=${`${row.name}${row.is_default ? ` (${t('pickup.default')})` : ''}`}
        second=${`${row.address}, ${row.city}, ${row.phone}`} />`,
    ),
    column(
      '',
      ({ id }) => html`<${Act} question=${t('sure')} run=${() => remove(`/pickup-address/${id}`).then(list.reload)}>
      ${t('pickup.delete')}<//>`,
    ),
  ]
  const several = (businesses.data?.length ?? 0) > 1
  const fields = [
    ...(several
      ? [
          {
            name: 'merchant_business_id',
            label: t('upload.business'),
            options: businesses.data,
            none: t('pickup.default'),
          },
        ]
      : []),
    { name: 'name', label: t('name'), maxlength: 100, required: true },
    { name: 'address', label: t('pickup.address'), maxlength: 1000, required: true },
    { name: 'city_id', label: t('pickup.city'), find: findCities, required: true },
    { name: 'phone', label: t('field.customer_phone'), type: 'tel', maxlength: 50, required: true },
    { name: 'is_default', label: t('pickup.default'), type: 'checkbox' },
  ]
  const toBody = (/** @type {any} */ { is_default, merchant_business_id: of, ...entered }) => ({
    ...entered,
    ...(of && { merchant_business_id: of }),
    ...(is_default === 'true' && { is_default: true }),
  })
  return html`<${Panel} title=${t('pickup.addresses')}>
    <${Rows} of=${list} lines=${2} caption=${t('pickup.addresses')} columns=${columns} empty=${t('pickup.first')} />
    <${Form} id="address" fields=${fields} submit=${t('pickup.add')} path="/pickup-address" toBody=${toBody}
      onDone=${list.reload} /><//>`
}

const Messages = () => {
  const list = useLive(signal => callOrders('/ticket', { signal }), 30)
  const fields = [
    { name: 'subject', label: t('ticket.about'), maxlength: 255, required: true },
    { name: 'message', label: t('ticket.message'), maxlength: 800 },
  ]
  const toBody = (/** @type {object} */ entered) => ({ ticket_type_id: 1, ...entered })
  return html`<${Tickets} of=${list}><${Form} id="ticket" fields=${fields} submit=${t('ticket.send')} path="/ticket"
    toBody=${toBody} onDone=${list.reload} /><//>`
}

/** Lets a merchant ask for pickups, keep the addresses for them, and write to the company. */
export const Pickups = ({ title, query }) => {
  const list = useLive(signal => callOrders('/pickup', { signal }), 30)
  const addresses = useLive(signal => callOrders('/pickup-address', { signal }))
  const columns = [
    ...pickupColumns(),
    column('', row =>
      row.state === 'open'
        ? html`<${Act} question=${t('sure')} run=${() => remove(`/pickup/${row.id}`).then(list.reload)}>
          ${t('pickup.withdraw')}<//>`
        : html`<${Receipt} pickup=${row} />${
            row.scanned &&
            html`<details><summary>${t('pickup.parcels')}</summary>
          <code>${row.scanned.join(' ')}</code></details>`
          }`,
    ),
  ]
  const known = addresses.data?.data ?? []
  const done = () => {
    location.hash = '#/pickups'
    list.reload()
  }
  return html`<h1 tabindex="-1">${title}</h1>
    ${
      known.length > 0 &&
      html`<${Panel} title=${t('pickup.ask')}><${Ask} addresses=${known}
        waybills=${query.waybills?.split(',') ?? []} onDone=${done} /><//>`
    }
    <${Panel} title=${t('menu.pickups')}>
      <${Rows} of=${list} lines=${3} caption=${t('menu.pickups')} columns=${columns} empty=${t('pickup.none')} /><//>
    <${Addresses} list=${addresses} /><${Messages} />`
}
