import { Act } from '../../kit/actions.js'
import { ApiError, callOrders } from '../../kit/api.js'
import { Form, orderFields, pause, usePost } from '../../kit/form.js'
import { money, statusName, t } from '../../kit/i18n.js'
import { html, useRef, useState } from '../../kit/preact.js'
import { getSession } from '../../kit/session.js'
import { Badge, Panel, ParcelLink, useLive } from '../../kit/ui.js'
import { General } from '../general.js'
import { readBusinesses, readStatuses, recall, remember } from '../merchant.js'
import { readMoney, readWeight } from '../upload/numbers.js'
import { readSentence, wordProblem } from '../upload/row-problems.js'

const needed = ['customer_name', 'customer_phone', 'customer_address', 'destination_city_id', 'cod', 'weight']
const second = () => (getSession().me?.tenant.secondary_phone ? ['customer_secondary_phone'] : [])
const fields = (/** @type {boolean | undefined} */ mayConfirm) => [
  ...orderFields([...needed, ...second(), 'order_no', 'description', 'remark']).map(field => ({
    ...field,
    required: needed.includes(field.name),
    hint: field.name === 'cod' ? t('book.prepaid') : '',
  })),
  ...(mayConfirm ? [{ name: 'draft', label: t('book.draft'), type: 'checkbox' }] : []),
]

/** Reads the price of a parcel once its origin, city and weight are known. */
const readPrice = async (
  /** @type {any} */ { origin_city_id, destination_city_id, weight },
  /** @type {AbortSignal} */ signal,
) => {
  const { value } = readWeight(weight)
  if (!origin_city_id || !destination_city_id || value === undefined) return null
  await pause(signal)
  const body = { general_data: { origin_city_id }, order_data: [{ destination_city_id, weight: value }] }
  return (await callOrders('/order/quote', { method: 'POST', body, signal })).data[0]
}

/** Shows the booked parcel with its status; a draft can be confirmed at once. */
const Booked = ({ waybill, isDraft, statuses, post }) => {
  const [isConfirmed, setIsConfirmed] = useState(!isDraft)
  const confirm = () => post('/order/confirm', { waybill_numbers: [waybill] }).then(() => setIsConfirmed(true))
  return html`<div class="notice row"><p role="status">${t('book.done')} <${ParcelLink} waybill=${waybill} />
      <${Badge} kind=${isConfirmed ? 'good' : 'warn'}>
        ${statusName((isConfirmed ? statuses?.confirmed : statuses?.draft) ?? '')}<//></p>
    ${!isConfirmed && statuses?.mayConfirm && html`<${Act} run=${confirm}>${t('parcel.confirm')}<//>`}</div>`
}

export const Book = () => {
  const businesses = useLive(readBusinesses)
  const statuses = useLive(readStatuses)
  const mayConfirm = statuses.data?.mayConfirm
  const [general, setGeneral] = useState({ merchant_business_id: '', origin_city_id: '', ...recall().general })
  const usual = { weight: general.weight ?? '1' }
  const [entered, setEntered] = useState(/** @type {Record<string, string>} */ ({}))
  const [booked, setBooked] = useState(/** @type {{ waybill: string, isDraft: boolean } | undefined} */ (undefined))
  const { destination_city_id, weight = usual.weight } = entered
  const asked = { ...general, destination_city_id, weight }
  const price = useLive(signal => readPrice(asked, signal), 0, [JSON.stringify(asked)])
  const post = usePost()
  const shown = useRef('')
  const change = (/** @type {typeof general} */ next) => {
    setGeneral(next)
    remember({ general: next })
  }
  const business = general.merchant_business_id || businesses.data?.[0]?.id
  /** Stops at what seems wrong with a parcel, such as its order number, until the same is sent again. */
  const askOnce = async (/** @type {any} */ body) => {
    if (shown.current === JSON.stringify(body)) return
    const { warnings } = await callOrders('/order/bulk?dry_run=true', { method: 'POST', body }).catch(nameFields)
    shown.current = JSON.stringify(body)
    if (warnings) throw new ApiError(t('book.again'), { errors: nameErrors(warnings) })
  }
  const send = async (/** @type {Record<string, string>} */ { draft, ...order }) => {
    const isDraft = !mayConfirm || draft === 'true'
    const general_data = { origin_city_id: general.origin_city_id, merchant_business_id: business }
    const status = isDraft ? 'key_1' : 'key_2'
    const order_data = [{ ...order, ...readAmounts({ ...usual, ...order }), initial_status_key: status }]
    const body = { general_data, order_data }
    await askOnce(body)
    const { data } = await post('/order/single', body).catch(nameFields)
    shown.current = ''
    setBooked({ waybill: data[0], isDraft })
    setEntered({})
  }
  const missing = general.origin_city_id
    ? statuses.data
      ? ''
      : t('loading')
    : t('upload.missing', { what: t('upload.origin') })
  const submit = mayConfirm ? (entered.draft === 'true' ? 'book.submit' : 'book.confirm') : 'book.submit'
  return html`<h1 tabindex="-1">${t('menu.book')}</h1>
    ${booked && html`<${Booked} key=${booked.waybill} ...${booked} statuses=${statuses.data} post=${post} />`}
    <${Panel} title=${t('upload.origin')}>
      <${General} general=${general} onGeneral=${change} businesses=${businesses} /><//>
    <${Panel} title=${t('parcel')}
      aside=${
        price.data &&
        html`<strong>
        ${t('book.price', { sum: money(price.data.delivery_charge, price.data.currency) })}</strong>`
      }>
      <${Form} id="book" fields=${fields(mayConfirm)} start=${usual} submit=${t(submit)} send=${send}
        missing=${missing} onEnter=${setEntered} />
    <//>`
}

/** Reads COD and weight, or throws what is wrong with them: nothing is filled in. */
const readAmounts = (/** @type {Record<string, string>} */ { cod = '', weight }) => {
  const readings = { cod: readMoney(cod, getSession().me?.tenant.currency), weight: readWeight(weight) }
  const errors = Object.entries(readings).flatMap(([name, { problem }]) =>
    problem ? [[name, [wordProblem({ code: problem })]]] : [],
  )
  if (errors.length > 0) throw new ApiError(t('book.wrong'), { errors: Object.fromEntries(errors) })
  return { cod: readings.cod.value, weight: readings.weight.value }
}

/** Words sentences in the language of the desk, under the names of the form's fields. */
const nameErrors = (/** @type {Record<string, string[]>} */ errors) =>
  Object.fromEntries(
    Object.entries(errors).map(([path, sentences]) => [
      path.replace(/^(order_data\.0|rate_card)\./, ''),
      sentences.map(sentence => wordProblem(readSentence(sentence))),
    ]),
  )

/** Throws the error again with what it says of fields. @returns {never} */
const nameFields = (/** @type {unknown} */ error) => {
  if (!(error instanceof ApiError) || error.status !== 422) throw error
  throw new ApiError(t('book.wrong'), { status: error.status, errors: nameErrors(error.errors) })
}
