// Contains small parts that the screens share.
import { ErrorText } from './actions.js'
import { dateTime, named, t } from './i18n.js'
import { html, useEffect, useRef, useState } from './preact.js'
import { useSession } from './session.js'

/**
 * Reads a value from a service: `read` gets a signal that aborts when the person leaves the screen or `inputs` change.
 * While the page is visible, repeats every `seconds` (0: never) and after an error that may pass; the last value stays
 * until the next value arrives.
 * @param {(signal: AbortSignal) => Promise<any>} read
 */
export const useLive = (read, seconds = 0, inputs = /** @type {unknown[]} */ ([])) => {
  const [state, setState] = useState({ data: /** @type {any} */ (undefined), error: /** @type {any} */ (undefined) })
  const { token } = useSession()
  const isSignedIn = useRef(true)
  isSignedIn.current = token !== null
  const again = useRef(() => {})
  useEffect(() => {
    let abort = new AbortController()
    let timer = 0
    let isWanted = false
    const run = async () => {
      clearTimeout(timer)
      // The response to an older request must not replace the response to a newer request.
      abort.abort()
      if (!isSignedIn.current) return
      abort = new AbortController()
      const { signal } = abort
      const error = await read(signal).then(
        data => {
          if (!signal.aborted) setState({ data, error: undefined })
        },
        caught => caught,
      )
      if (signal.aborted) return
      if (error) setState(last => ({ ...last, error }))
      const wait = Math.max(seconds, error?.againAfter ?? 0)
      isWanted = wait > 0
      if (isWanted) timer = window.setTimeout(onVisible, wait * 1000)
    }
    const onVisible = () => document.visibilityState === 'visible' && isWanted && run()
    setState({ data: undefined, error: undefined })
    again.current = run
    document.addEventListener('visibilitychange', onVisible)
    run()
    return () => {
      abort.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, inputs)
  // After a new sign-in, the current view stays until the new value arrives.
  const before = useRef(token)
  useEffect(() => {
    if (token && token !== before.current) again.current()
    before.current = token
  }, [token])
  return { ...state, reload: () => again.current() }
}

/** Shows a secret that the service reveals only once. */
export const Secret = ({ label, value }) =>
  html`<div class="notice good"><${Field} id="secret" label=${label} hint=${t('secret.once')} value=${value} readonly
    onFocus=${event => event.target.select()} /></div>`

/** Shows a control with its label; `errors` are the service's sentences about its value. */
export const Field = ({ label, id, errors = [], hint = '', children = undefined, ...input }) => {
  const about = [errors.length > 0 && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ') || undefined
  const common = { id, 'aria-describedby': about, 'aria-invalid': errors.length > 0 ? 'true' : undefined, ...input }
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children ? html`<select ...${common}>${children}</select>` : html`<input ...${common} />`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${errors.length > 0 && html`<p class="wrong" id=${`${id}-error`}>${errors.join(' ')}</p>`}
  </div>`
}

export const Badge = ({ kind = 'neutral', children }) => html`<span class=${`badge ${kind}`}>${children}</span>`

const kindsOfMessages = {
  delivered: 'good',
  read: 'good',
  failed: 'bad',
  unknown: 'warn',
  held: 'warn',
  expired: 'warn',
}
export const MessageStatus = ({ status }) =>
  html`<${Badge} kind=${kindsOfMessages[status]}>${named('messages', status)}<//>`

export const Time = ({ at }) => html`<time datetime=${at}>${dateTime(at)}</time>`

export const PhoneLink = ({ phone }) => {
  const number = phone.replace(/(?<=\p{Nd}.*)\p{L}.*/su, '').replace(/[^\p{Nd}+]/gu, '')
  return html`<a href=${`tel:${number}`}>${phone}</a>`
}

export const ParcelLink = ({ waybill, ...more }) =>
  waybill && html`<a href=${`#/parcel/${encodeURIComponent(waybill)}`} ...${more}>${waybill}</a>`

export const Two = ({ first, second }) => html`<span>${first}<br /><span class="soft">${second}</span></span>`

/**
 * Describes a column of a table: its heading, and the part of a row that it shows.
 * @param {string} label
 * @param {(row: any) => unknown} show
 */
export const column = (label, show, align = '') => ({ label, show, align })

/** Shows a table of objects, which the field `id` identifies; on a phone each row is a card. */
export const Table = ({ caption, columns, rows, empty = '', id = 'id' }) =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<table role="table">
        <caption class="hidden">${caption}</caption>
        <thead role="rowgroup"><tr role="row">
          ${columns.map(
            ({ label, align }) => html`<th key=${label} role="columnheader" scope="col" class=${align}>
            ${label}</th>`,
          )}
        </tr></thead>
        <tbody role="rowgroup">
          ${rows.map(
            row => html`<tr key=${row[id]} role="row">
            ${columns.map(
              ({ label, show, align }) =>
                html`<td key=${label} role="cell" data-label=${label} class=${align}>${show(row)}</td>`,
            )}
          </tr>`,
          )}
        </tbody>
      </table>`

/** Shows names with their values; leaves out empty values. @param {{ of: Record<string, unknown> }} props */
export const Facts = ({ of }) =>
  html`<dl class="details">${Object.entries(of).map(
    ([name, value]) => value && html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`

/** Shows a section with its heading, which can get the focus if it has an `id`. */
export const Panel = ({ title, id = undefined, kind = '', aside = null, children }) =>
  html`<section class=${`panel ${kind}`} aria-label=${id ? undefined : title} aria-labelledby=${id}>
    <header><h2 id=${id} tabindex=${id && '-1'}>${title}</h2>${aside}</header>${children}
  </section>`

/** Shows a placeholder until the first value arrives, as high as the content to come. */
export const Loading = ({ lines = 3 }) =>
  html`<div class="loading" aria-busy="true"><span class="hidden">${t('loading')}</span>
    ${Array.from({ length: lines }, (_, index) => html`<span key=${index} class="bar"></span>`)}</div>`

/** Shows a value of `useLive` once it has arrived: `children` is a function of the value. */
export const Live = ({ of: { data, error }, lines = 3, children }) => [
  html`<${ErrorText} error=${error} />`,
  data === undefined ? !error && html`<${Loading} lines=${lines} />` : children(data),
]
