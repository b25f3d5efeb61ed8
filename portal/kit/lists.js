// Builds the parts of lists: filters, which the address holds so that people can share a link to a list, and pages.

import { Button, instead } from './actions.js'
import { callOrders, withQuery } from './api.js'
import { Control } from './form.js'
import { t } from './i18n.js'
import { html, useEffect, useState } from './preact.js'
import { Field, Live, Table, useLive } from './ui.js'

const wide = matchMedia('(min-width: 641px)')

/** Shows a text field whose value applies once it is entered: on Enter or when the field loses the focus. */
const Entered = ({ value, onChange, ...more }) => {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const enter = event => event.target.validity.valid && onChange(event.target.value.trim())
  return html`<${Field} value=${text} onInput=${event => setText(event.target.value)} onChange=${enter} ...${more} />`
}

/**
 * Shows a form of filters whose `fields` are `{ name, label }` and other props of a `Control`; `first` is a field that
 * is always visible.
 */
export const Filters = ({ screen, query, fields, first = /** @type {any} */ (undefined) }) => {
  const control = (/** @type {any} */ { name, ...field }) => {
    const common = { key: name, id: `filter-${name}`, value: query[name] ?? '', ...field }
    const onValue = (/** @type {string} */ value) => {
      // The screen may not have been drawn anew since the last filter changed: the address has it.
      const shown = Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))
      location.hash = withQuery(`#/${screen}`, { ...shown, [name]: value })
    }
    return field.options || field.find
      ? html`<${Control} none=${t('filter.all')} ...${common} onValue=${onValue} />`
      : html`<${Entered} autocomplete="off" maxlength="80" ...${common} onChange=${onValue} />`
  }
  const count = Object.keys(query).length
  const [isOpen, setIsOpen] = useState(wide.matches)
  useEffect(() => {
    const onWidth = () => setIsOpen(wide.matches)
    wide.addEventListener('change', onWidth)
    return () => wide.removeEventListener('change', onWidth)
  }, [])
  return html`${first && control(first)}<details class="filters" open=${isOpen}>
    <summary onClick=${instead(() => setIsOpen(!isOpen))}>${t('filter.title')}${count > 0 && ` (${count})`}</summary>
    <div class="fields">${fields.map(control)}</div>
    ${count > 0 && html`<p><a href=${`#/${screen}`}>${t('filter.clear')}</a></p>`}
  </details>`
}

/**
 * Reads a list page by page, and again every `seconds` (0: never). Begins again when the path or the query changes.
 * @param {string} path @param {Record<string, unknown>} query @param {typeof callOrders} [send] to another service
 */
export const usePages = (path, query = {}, seconds = 0, send = callOrders) => {
  const list = withQuery(path, query)
  const [at, setAt] = useState({ list, cursors: [''] })
  const cursors = at.list === list ? at.cursors : ['']
  const page = useLive(signal => send(withQuery(path, { ...query, cursor: cursors[0] }), { signal }), seconds, [
    list,
    cursors[0],
  ])
  return { ...page, cursors, go: (/** @type {string[]} */ next) => setAt({ list, cursors: next }) }
}

/** Shows buttons for the pages before and after the page that `usePages` read. */
export const Pages = ({ of: { data, cursors, go } }) => {
  const next = data.meta?.next_cursor ?? data.next_cursor
  return html`<div class="row">
    ${cursors.length > 1 && html`<${Button} onClick=${() => go(cursors.slice(1))}>${t('page.before')}<//>`}
    ${next && html`<${Button} onClick=${() => go([next, ...cursors])}>${t('page.next')}<//>`}
  </div>`
}

/** Shows a table of the rows that `usePages` or `useLive` read; it gets the other props, and `note` follows it. */
export const Rows = ({ of, lines = 6, note = undefined, ...table }) =>
  html`<${Live} of=${of} lines=${lines}>${({ data }) => html`
    <${Table} ...${table} rows=${data} />${note}${of.cursors && html`<${Pages} of=${of} />`}`}<//>`
