import { Act } from './actions.js'
import { callOrders } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useState } from './preact.js'
import { may } from './session.js'
import { Panel, Time, useLive } from './ui.js'

/** Loads a picture once somebody asks for it: it shows a person's door. */
const Picture = ({ path, name }) => {
  const [url, setUrl] = useState('')
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  const load = async () => setUrl(URL.createObjectURL(await callOrders(path, { as: 'blob' })))
  return url ? html`<img class="proof" src=${url} alt=${name} />` : html`<${Act} run=${load}>${t('proofs.show')}<//>`
}

/** Shows the proofs of a parcel; nothing where there are none, or who may not see them. */
export const Proofs = ({ waybill, needs, inputs = [] }) => {
  const path = `/order/${encodeURIComponent(waybill)}/proofs`
  const read = signal => (may(needs) ? callOrders(path, { signal }) : Promise.resolve({ data: [] }))
  const proofs = useLive(read, 0, [waybill, ...inputs]).data?.data ?? []
  if (proofs.length === 0) return null
  return html`<${Panel} title=${t('proofs.title')}><ul class="plain stack">${proofs.map(
    ({ id, kind, event, at, type, reason, is_applied }) => {
      const name = `${t(`proofs.${kind}`)}, ${t(`proofs.${event}`)}`
      const isLate = !type && (kind === 'photo' || kind === 'signature')
      return html`<li key=${id}><strong>${name}</strong> <${Time} at=${at} />
        ${is_applied === false && html` <span class="soft">${t('proofs.refused')}</span>`}
        ${isLate && html`<p class="soft">${t('proofs.late')}</p>`}${reason && html`<p class="soft">${reason}</p>`}
        ${type && html`<div><${Picture} path=${`${path}/${id}`} name=${name} /></div>`}</li>`
    },
  )}</ul><//>`
}
