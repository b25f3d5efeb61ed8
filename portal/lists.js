// Parts of lists: filters in the address, so that a link to a list can be shared, and pages.
import { orders, withQuery } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useState } from './preact.js'
import { Button, Field, useLive } from './ui.js'

/** @typedef {{ id: string, label: string }} Option */

/** Waits for a pause in typing. @param {AbortSignal} signal */
export const pause = async signal => {
  await new Promise(resolve => setTimeout(resolve, 300))
  signal.throwIfAborted()
}

/** @param {{ id?: string, name?: string }} wanted @param {AbortSignal} signal @returns {Promise<Option[]>} */
export const findCities = async ({ id, name = '' }, signal) => {
  const path = withQuery('/api/staff/city', { id, name: name.replace(/,.*/, ''), per_page: 20 })
  return (await orders(path, { signal })).data.map(({ id, name, state }) => ({
    id: String(id),
    label: `${name}, ${state.name}`,
  }))
}

/** @param {{ id?: string, name?: string }} wanted @param {AbortSignal} signal @returns {Promise<Option[]>} */
export const findMerchants = async ({ id, name = '' }, signal) => {
  const path = withQuery('/api/staff/merchant', { id, name: name.replace(/ \(\d+\)$/, ''), limit: 20 })
  return (await orders(path, { signal })).data.map(({ id, name }) => ({ id: String(id), label: `${name} (${id})` }))
}

/** One of many rows by a part of its name: `find` reads those of a name or id. `value` is an id, empty for none. */
export const Choice = ({ id, find, value = '', onChange, errors = [], ...more }) => {
  const [text, setText] = useState('')
  const chosen = useLive(signal => (value ? find({ id: value }, signal) : Promise.resolve([])), 0, [value])
  const label = chosen.data?.[0]?.label ?? ''
  useEffect(() => setText(label), [label])
  const isTyped = text.trim().length > 1 && text !== label
  const found = useLive(
    async signal => {
      if (!isTyped) return []
      await pause(signal)
      return find({ name: text.trim() }, signal)
    },
    0,
    [isTyped && text],
  )
  const rows = /** @type {Option[]} */ (found.data ?? [])
  const [isMissing, setIsMissing] = useState(false)
  /** A name that is not finished yet chooses nothing. */
  const choose = ({ target }, isFinished) => {
    const wanted = target.value.trim().toLowerCase()
    const named = [...(chosen.data ?? []), ...rows].find(row => row.label.toLowerCase() === wanted)
    const match = named ?? (isFinished && wanted && rows.length === 1 ? rows[0] : undefined)
    const isClear = Boolean(match) || wanted === ''
    target.setCustomValidity(isClear ? '' : t('choice.unknown'))
    setIsMissing(isFinished && !isClear)
    if (isClear) onChange(match?.id ?? '')
  }
  return html`<${Field} id=${id} value=${text} list=${`${id}-options`} autocomplete="off" maxlength="255" ...${more}
      errors=${isMissing ? [t('choice.unknown')] : errors} onChange=${event => choose(event, true)}
      onInput=${event => {
        setText(event.target.value)
        choose(event, false)
      }} />
    <datalist id=${`${id}-options`}>${rows.map(row => html`<option key=${row.id} value=${row.label}></option>`)}</datalist>`
}

/** A text that counts once it is entered: with Enter, or by leaving the field. */
const Entered = ({ value, onChange, ...more }) => {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const enter = event => event.target.validity.valid && onChange(event.target.value.trim())
  return html`<${Field} value=${text} onInput=${event => setText(event.target.value)} onChange=${enter} ...${more} />`
}

/** `fields`: `{ name, label }` with `options` to choose from, or `find` for a choice of many; the rest goes to the input. */
export const Filters = ({ screen, query, fields }) => {
  const control = (/** @type {any} */ { name, label, options, find, ...more }) => {
    const common = { key: name, id: `filter-${name}`, label, value: query[name] ?? '' }
    const onChange = (/** @type {string} */ value) => {
      location.hash = withQuery(`#/${screen}`, { ...query, [name]: value })
    }
    if (find) return html`<${Choice} ...${common} find=${find} onChange=${onChange} />`
    if (!options)
      return html`<${Entered} ...${common} autocomplete="off" maxlength="80" ...${more} onChange=${onChange} />`
    return html`<${Field} ...${common} onChange=${event => onChange(event.target.value)}>
      <option value="">${t('filter.all')}</option>
      ${options.map(({ id, label }) => html`<option key=${id} value=${id}>${label}</option>`)}<//>`
  }
  const count = Object.keys(query).length
  return html`<details class="filters" open=${innerWidth > 640}>
    <summary>${t('filter.title')}${count > 0 && ` (${count})`}</summary>
    <div class="fields">${fields.map(control)}</div>
    ${count > 0 && html`<p><a href=${`#/${screen}`}>${t('filter.clear')}</a></p>`}
  </details>`
}

/** Reads a list page by page: `read` gets a cursor, empty for the first page. Begins again when `inputs` change. */
export const usePages = (
  /** @type {(cursor: string, signal: AbortSignal) => Promise<any>} */ read,
  /** @type {unknown[]} */ inputs,
  seconds = 0,
) => {
  const list = JSON.stringify(inputs)
  const [at, setAt] = useState({ list, cursors: [''] })
  const cursors = at.list === list ? at.cursors : ['']
  const page = useLive(signal => read(cursors[0], signal), seconds, [list, cursors[0]])
  return { ...page, cursors, go: (/** @type {string[]} */ next) => setAt({ list, cursors: next }) }
}

/** The ways to the pages beside the one that `usePages` read. */
export const Pages = ({ of: { cursors, go }, next }) =>
  html`<div class="row">
    ${cursors.length > 1 && html`<${Button} onClick=${() => go(cursors.slice(1))}>${t('page.before')}<//>`}
    ${next && html`<${Button} onClick=${() => go([next, ...cursors])}>${t('page.next')}<//>`}
  </div>`
