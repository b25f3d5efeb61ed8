import { ApiError, orders } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { findCities } from '../../kit/lists.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { announced, Button } from '../../kit/ui.js'

const customerFields = ({ customer_secondary_phone }) => [
  { name: 'customer_name', label: t('customer'), maxlength: 255 },
  { name: 'customer_phone', label: t('find.phone'), type: 'tel', maxlength: 50 },
  // The service stores a new second phone only if the company allows it, which the console does not know.
  ...(customer_secondary_phone
    ? [{ name: 'customer_secondary_phone', label: t('edit.second_phone'), type: 'tel', maxlength: 50 }]
    : []),
  { name: 'customer_email', label: t('sign_in.email'), inputmode: 'email', maxlength: 255 },
  { name: 'customer_address', label: t('edit.address'), maxlength: 1000 },
]
const otherFields = () => [
  { name: 'destination_city_id', label: t('to'), find: findCities },
  { name: 'cod', label: t('cod'), inputmode: 'numeric', maxlength: 40 },
  { name: 'weight', label: `${t('weight')} (kg)`, inputmode: 'decimal', maxlength: 40 },
  { name: 'description', label: t('contents'), maxlength: 1000 },
]

/**
 * A form for the fields of an order that staff may change. `order` is the response that contains it; `onDone` gets the warnings
 * about the change.
 */
export const Edit = ({ order, onDone, onClose }) => {
  const [base, setBase] = useState(order)
  const { waybill_number, editable } = base.data
  const path = `/api/staff/order/${encodeURIComponent(waybill_number)}`
  const send = async body => {
    try {
      const { warnings = {} } = await announced(orders(path, { method: 'PATCH', body, ifMatch: base.etag }))
      onDone(Object.values(warnings).flat())
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error
      setBase(await orders(path))
      throw new ApiError(t('edit.stale'))
    }
  }
  useEffect(() => document.getElementById('edit-customer_name')?.focus(), [])
  const fields = [
    ...customerFields(base.data),
    ...(editable === 'all' ? otherFields() : []),
    { name: 'reason', label: t('edit.reason'), maxlength: 1000, required: true },
  ]
  return html`<${Form} id="edit" fields=${fields} start=${base.data} submit=${t('edit.save')} send=${send}>
    <${Button} onClick=${onClose}>${t('edit.close')}<//><//>`
}
