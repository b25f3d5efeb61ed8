import { callOrders } from '../kit/api.js'
import { html } from '../kit/preact.js'
import { may } from '../kit/session.js'
import { useLive } from '../kit/ui.js'

const readNames = async (/** @type {AbortSignal} */ signal) =>
  may('listCollectors') ? (await callOrders('/cash/person', { signal })).data.map(({ name }) => name) : []

/** Suggests members of staff to the fields whose `list` is its id. @param {{ id: string }} props */
export const People = ({ id }) => {
  const names = useLive(readNames)
  return html`<datalist id=${id}>
    ${(names.data ?? []).map(name => html`<option key=${name} value=${name}></option>`)}</datalist>`
}
