import { Control, findCities } from '../kit/form.js'
import { t } from '../kit/i18n.js'
import { html } from '../kit/preact.js'
import { Live } from '../kit/ui.js'

/** Shows the fields that all parcels share: the business, the city where they start, and others as `children`. */
export const General = ({ general, onGeneral, businesses, children = null }) => {
  const control = (/** @type {string} */ id, /** @type {string} */ name, /** @type {object} */ more) =>
    html`<${Control} id=${id} label=${t(`upload.${id}`)} value=${general[name]}
      onValue=${value => onGeneral({ ...general, [name]: value })} ...${more} />`
  return html`<${Live} of=${businesses}>${options => html`<div class="fields">
    ${control('business', 'merchant_business_id', { options, value: general.merchant_business_id || options[0]?.id })}
    ${control('origin', 'origin_city_id', { find: findCities })}${children}</div>`}<//>`
}
