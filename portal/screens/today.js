import { t } from '../i18n.js'
import { html } from '../preact.js'

/** The day at a glance. */
export const Today = () => html`<h1 tabindex="-1">${t('menu.today')}</h1>`
