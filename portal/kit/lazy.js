// Loads a screen that people seldom open when it first opens, so that the first visit loads little.

import { ApiError } from './api.js'
import { t } from './i18n.js'
import { html, useLayoutEffect } from './preact.js'
import { Live, useLive } from './ui.js'

/** Returns a screen with the heading of the menu's entry until `load` has read its component. */
export const lazy = (/** @type {string} */ name, /** @type {() => Promise<any>} */ load) => {
  /** @type {any} */
  let Loaded
  const read = async () => {
    Loaded ??= await load().catch(() => {
      throw new ApiError(t('error.unreachable'))
    })
    return Loaded
  }
  return (/** @type {any} */ props) => {
    const found = useLive(read)
    // The screen's own heading takes the focus from that of the menu's entry.
    useLayoutEffect(() => found.data && document.querySelector('h1')?.focus(), [found.data])
    return Loaded
      ? html`<${Loaded} ...${props} />`
      : html`<h1 tabindex="-1">${t(`menu.${name}`)}</h1><${Live} of=${found}>${() => null}<//>`
  }
}
