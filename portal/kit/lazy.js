// Loads a screen that people seldom open when it first opens, so that the first visit loads little.

import { ApiError } from './api.js'
import { t } from './i18n.js'
import { html, useLayoutEffect } from './preact.js'
import { Live, useLive } from './ui.js'

/** Returns a screen with its title as the heading until `load` has read its component. */
export const lazy = (/** @type {() => Promise<any>} */ load) => {
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
    // The heading of the loaded screen takes the focus from the title.
    useLayoutEffect(() => found.data && document.querySelector('h1')?.focus(), [found.data])
    return Loaded
      ? html`<${Loaded} ...${props} />`
      : html`<h1 tabindex="-1">${props.title}</h1><${Live} of=${found}>${() => null}<//>`
  }
}
