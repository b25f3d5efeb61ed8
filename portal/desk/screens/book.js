import { ApiError, own } from '../../kit/api.js'
import { Control, Form, findCities, orderFields, pause, usePost } from '../../kit/form.js'
import { money, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Live, Panel, ParcelLink, useLive } from '../../kit/ui.js'
import { readBusinesses, recall, remember } from '../merchant.js'
import { readNumber } from '../read-sheet.js'

const needed = ['customer_name', 'customer_phone', 'customer_address', 'destination_city_id']
const fields = () =>
  orderFields([...needed, 'cod', 'weight', 'order_no', 'description', 'remark']).map(field => ({
    ...field,
    required: needed.includes(field.name),
  }))

/** Reads the price of a parcel once its origin and city are known; without a weight, the price of 1 kg. */
const readPrice = async (
  /** @type {any} */ { origin_city_id, destination_city_id, weight },
  /** @type {AbortSignal} */ signal,
) => {
  if (!origin_city_id || !destination_city_id) return null
  await pause(signal)
  const body = {
    general_data: { origin_city_id },
    order_data: [{ destination_city_id, weight: readNumber(weight || '1') }],
  }
  return (await own('/order/quote', { method: 'POST', body, signal })).data[0]
}

/** Books one parcel, and shows its price while the merchant types. */
export const Book = () => {
  const businesses = useLive(readBusinesses)
  const [general, setGeneral] = useState({ merchant_business_id: '', origin_city_id: '', ...recall().general })
  const [entered, setEntered] = useState(/** @type {Record<string, string>} */ ({}))
  const [waybill, setWaybill] = useState('')
  const asked = { ...general, destination_city_id: entered.destination_city_id, weight: entered.weight }
  const price = useLive(signal => readPrice(asked, signal), 0, [JSON.stringify(asked)])
  const post = usePost()
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) => {
    setGeneral(last => ({ ...last, [name]: value }))
    remember({ general: { ...recall().general, [name]: value } })
  }
  const business = general.merchant_business_id || businesses.data?.[0]?.id
  const send = async (/** @type {Record<string, string>} */ { cod, weight, ...order }) => {
    const body = {
      general_data: { origin_city_id: general.origin_city_id, merchant_business_id: business },
      order_data: [{ ...order, cod: readNumber(cod || '0'), weight: readNumber(weight || '1') }],
    }
    const { data } = await post('/order/single', body).catch(nameFields)
    setWaybill(data[0])
    setEntered({})
  }
  return html`<h1 tabindex="-1">${t('menu.book')}</h1>
    ${waybill && html`<p class="notice" role="status">${t('book.done')} <${ParcelLink} waybill=${waybill} /></p>`}
    <${Panel} title=${t('upload.origin')}><${Live} of=${businesses}>${data => html`<div class="fields">
      <${Control} id="business" label=${t('upload.business')} options=${data} value=${business}
        onValue=${set('merchant_business_id')} />
      <${Control} id="origin" label=${t('upload.origin')} find=${findCities} value=${general.origin_city_id}
        onValue=${set('origin_city_id')} /></div>`}<//><//>
    <${Panel} title=${t('parcel')}
      aside=${
        price.data &&
        html`<strong>
        ${t('book.price', { sum: money(price.data.delivery_charge, price.data.currency) })}</strong>`
      }>
      <${Form} id="book" fields=${fields()} submit=${t('book.submit')} send=${send} onEnter=${setEntered} />
    <//>`
}

/** Throws the error again, under the names of the order's fields. @param {unknown} error @returns {never} */
const nameFields = error => {
  if (!(error instanceof ApiError)) throw error
  const errors = Object.fromEntries(
    Object.entries(error.errors).map(([path, sentences]) => [path.replace(/^order_data\.0\./, ''), sentences]),
  )
  throw new ApiError(error.message, { status: error.status, errors })
}
