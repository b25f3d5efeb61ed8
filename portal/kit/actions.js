// Runs the actions of a person: each button runs one action at a time, and screen readers announce the outcome.
import { callOrders } from './api.js'
import { t } from './i18n.js'
import { html, useRef, useState } from './preact.js'
import { may } from './session.js'

/**
 * Returns an action that never runs twice at once: `run` ignores further presses until the action ends. A string that
 * the last run returned is a `notice` to the person.
 */
export const useAction = (/** @type {(...values: any[]) => Promise<unknown>} */ act) => {
  const [state, setState] = useState(
    /** @type {{ isBusy: boolean, error?: any, notice?: string }} */ ({ isBusy: false }),
  )
  const isRunning = useRef(false)
  const run = async (/** @type {any[]} */ ...values) => {
    if (isRunning.current) return
    isRunning.current = true
    setState({ isBusy: true })
    const ended = await act(...values).then(
      result => (typeof result === 'string' ? { notice: result } : {}),
      error => ({ error }),
    )
    isRunning.current = false
    setState({ isBusy: false, ...ended })
  }
  return { ...state, run }
}

/** Returns a handler that acts in place of the browser. @param {(event: any) => unknown} act */
export const instead = act => event => {
  event.preventDefault()
  act(event)
}

/** Announces a sentence to screen readers. @param {string} sentence */
export const announce = sentence => {
  const live = document.getElementById('live')
  if (!live) return
  // Makes screen readers repeat an identical sentence.
  live.textContent = ''
  setTimeout(() => {
    live.textContent = sentence
  }, 50)
}

/**
 * Announces the message of a service's response.
 * @template {{ message: string }} Response
 * @param {Promise<Response>} response
 */
export const announced = async response => {
  const content = await response
  announce(content.message)
  return content
}

/**
 * Saves a file, even a PDF: a viewer inside the page would need a wider content policy. Returns what printing warns of.
 * @param {Blob & { warnings?: string | null }} blob @param {string} name
 */
export const saveFile = (blob, name) => {
  const url = URL.createObjectURL(blob)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
  return blob.warnings ? t('labels.warning', { list: blob.warnings }) : undefined
}

/** Shows a button; `missing` says what a person has to do before the button works. */
export const Button = ({ children, kind = '', isBusy = false, missing = '', disabled = Boolean(missing), ...more }) =>
  html`<button type="button" class=${`button ${kind}`} aria-disabled=${isBusy ? 'true' : undefined}
      disabled=${disabled} ...${more}>${children}</button>
    ${missing && html`<span class="hint">${missing}</span>`}`

/** Shows an error with its sentences, except about the fields in `except`, which show their own. */
export const ErrorText = ({ error, except = /** @type {string[]} */ ([]) }) => {
  if (!error) return null
  const lines = Object.entries(error.errors ?? {}).filter(([path]) => !except.includes(path))
  return html`<div class="error" role="alert">
    <p>${error.message}</p>
    ${
      lines.length > 0 &&
      html`<ul>
      ${lines.map(([path, sentences]) => html`<li key=${path}><code>${path}</code> ${sentences.join(' ')}</li>`)}</ul>`
    }
    ${error.retryAfter > 0 && html`<p>${t('error.retry', { seconds: error.retryAfter })}</p>`}
  </div>`
}

/**
 * Shows a button that runs an action, with the error of its last run. If the action cannot be undone, the first press
 * asks `question`.
 */
export const Act = ({ run, question = '', children, ...more }) => {
  const action = useAction(run)
  const [isAsked, setIsAsked] = useState(false)
  const press = () => {
    const asks = question !== '' && !isAsked
    setIsAsked(asks)
    if (asks) announce(question)
    else action.run()
  }
  return html`<${Button} isBusy=${action.isBusy} onClick=${press} onBlur=${() => setIsAsked(false)} ...${more}>
      ${isAsked ? question : children}<//>
    ${action.notice && html`<p class="notice" role="status">${action.notice}</p>`}
    <${ErrorText} error=${action.error} />`
}

/** Shows a button that saves the label of a parcel, if the person may print it by the operation that it `needs`. */
export const Label = ({ waybill, needs }) => {
  if (!may(needs)) return null
  const path = `/order/${encodeURIComponent(waybill)}/label`
  const save = async () => saveFile(await callOrders(path, { as: 'blob' }), `${waybill}.pdf`)
  return html`<${Act} run=${save}>${t('label')}<//>`
}

/** Shows a button that copies the tracking link; where the browser refuses, it shows the link to copy by hand. */
export const CopyLink = ({ url }) => {
  const [isShown, setIsShown] = useState(false)
  if (!url) return null
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(url)
      setIsShown(false)
      return t('link.copied')
    } catch {
      setIsShown(true)
    }
  }
  return html`<${Act} run=${copy}>${t('link.copy')}<//>
    ${
      isShown && html`<input readonly aria-label=${t('link.tracking')} value=${url} ref=${input => input?.select()} />`
    }`
}
