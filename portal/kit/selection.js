// Lets a person choose parcels in a list, on several pages, and act on all of them at once.

import { Button } from './actions.js'
import { number, t } from './i18n.js'
import { html, useState } from './preact.js'
import { column } from './ui.js'

/**
 * @typedef {{
 *   size: number, has: (waybill: string) => boolean, choose: (rows: any[], isChosen: boolean) => void,
 *   clear: () => void
 * }} Selection
 */

/** Returns a selection that keeps the chosen rows of a list. */
export const useSelection = () => {
  const [chosen, setChosen] = useState(/** @type {Map<string, any>} */ (new Map()))
  return {
    rows: [...chosen.values()],
    size: chosen.size,
    has: (/** @type {string} */ waybill) => chosen.has(waybill),
    choose: (/** @type {any[]} */ rows, /** @type {boolean} */ isChosen) =>
      setChosen(last => {
        const next = new Map(last)
        for (const row of rows) isChosen ? next.set(row.waybill_number, row) : next.delete(row.waybill_number)
        return next
      }),
    clear: () => setChosen(new Map()),
  }
}

/** Returns the column with which a person chooses rows. @param {Selection} selection */
export const choiceColumn = ({ has, choose }) =>
  column(
    t('selection.choose'),
    row =>
      html`<input type="checkbox" aria-label=${row.waybill_number} checked=${has(row.waybill_number)}
        onChange=${event => choose([row], event.target.checked)} />`,
  )

/** Shows a button that chooses the rows of the page, or none of them. */
export const ChoosePage = ({ of: { has, choose }, page }) => {
  const isWhole = page.length > 0 && page.every(row => has(row.waybill_number))
  return html`<${Button} onClick=${() => choose(page, !isWhole)}>
    ${t(isWhole ? 'selection.none_of_page' : 'selection.page')}<//>`
}

/** Shows how many parcels are chosen, and the actions on them, at the lower edge of the window. */
export const Chosen = ({ of: { size, has, clear }, page, children }) => {
  if (size === 0) return null
  const elsewhere = size - page.filter(row => has(row.waybill_number)).length
  const counts = { count: number(size), elsewhere: number(elsewhere) }
  return html`<section class="chosen" aria-label=${t('selection.chosen')}>
    <div class="row"><span role="status">${t(elsewhere > 0 ? 'selection.elsewhere' : 'selection.count', counts)}</span>
      <${Button} kind="quiet" onClick=${clear}>${t('selection.clear')}<//></div>
    ${children}</section>`
}

/** Returns true for the paths of errors that `listRefusals` assigns to a parcel. */
export const isOfParcel = (/** @type {string} */ path) => /^(waybill_numbers|collected)\./.test(path)

/**
 * Lists the refused parcels of a request that changes all of its `waybills` or none, each with its reason.
 * @param {any} error @param {string[]} waybills
 */
export const listRefusals = (error, waybills) =>
  waybills.flatMap((id, index) => {
    const isAbout = (/** @type {string} */ path) =>
      path === `waybill_numbers.${index}` || path === `collected.${id}` || path.startsWith(`collected.${id}.`)
    const sentences = Object.entries(error?.errors ?? {}).flatMap(([path, found]) => (isAbout(path) ? found : []))
    return sentences.length > 0 ? [{ id, reason: sentences.join(' ') }] : []
  })

const maxShown = 50

/** Shows the parcels that cannot be changed, each with its reason, and a button that leaves them out. */
export const Refused = ({ title, of, onDrop }) =>
  of.length > 0 &&
  html`<div class="notice" role="alert"><p>${title}</p>
    <ul class="refused">${of
      .slice(0, maxShown)
      .map(
        ({ id, reason }) => html`<li key=${id}>${!reason.startsWith(id) && html`<code>${id}</code> `}${reason}</li>`,
      )}</ul>
    ${of.length > maxShown && html`<p>${t('selection.more', { count: number(of.length - maxShown) })}</p>`}
    <${Button} onClick=${() => onDrop(of.map(({ id }) => id))}>${t('selection.drop')}<//></div>`
