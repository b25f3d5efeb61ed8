import { announced, Button } from '../../kit/actions.js'
import { ApiError, callOrders } from '../../kit/api.js'
import { Form, orderFields } from '../../kit/form.js'
import { t } from '../../kit/i18n.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { getSession } from '../../kit/session.js'

/**
 * Shows a form for the fields of an order that staff may change. `order` is the response that contains the order;
 * `onDone` gets the warnings about the change.
 */
export const Edit = ({ order, onDone, onClose }) => {
  const [base, setBase] = useState(order)
  const { waybill_number, editable } = base.data
  const allowsSecond = getSession().me?.tenant.secondary_phone
  const path = `/order/${encodeURIComponent(waybill_number)}`
  const send = async body => {
    try {
      const { warnings = {} } = await announced(callOrders(path, { method: 'PATCH', body, ifMatch: base.etag }))
      onDone(Object.values(warnings).flat())
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error
      setBase(await callOrders(path))
      throw new ApiError(t('edit.stale'))
    }
  }
  useEffect(() => document.getElementById('edit-customer_name')?.focus(), [])
  const fields = [
    ...orderFields([
      'customer_name',
      'customer_phone',
      ...(allowsSecond || base.data.customer_secondary_phone ? ['customer_secondary_phone'] : []),
      'customer_email',
      'customer_address',
      ...(editable === 'all' ? ['destination_city_id', 'cod', 'weight', 'description'] : []),
    ]),
    { name: 'reason', label: t('failures.reason'), maxlength: 1000, required: true },
  ]
  return html`<${Form} id="edit" fields=${fields} start=${base.data} submit=${t('edit.save')} send=${send}>
    <${Button} onClick=${onClose}>${t('edit.close')}<//><//>`
}
