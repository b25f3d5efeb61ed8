// Builds forms, whose fields show their errors under them.

import { announced, Button, ErrorText, instead, useAction } from './actions.js'
import { callOrders, newKeys, withQuery } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useRef, useState } from './preact.js'
import { Field, useLive } from './ui.js'

/** @typedef {{ id: string, label: string, name?: string }} Option `name` alone may choose the row. */

/** @template Item @param {Item[]} items */
const findOnly = items => (items.length === 1 ? items[0] : undefined)

/** @param {{ id?: string, name?: string }} wanted @param {AbortSignal} signal @returns {Promise<Option[]>} */
export const findCities = async ({ id, name = '' }, signal) => {
  const path = withQuery('/city', { id, name: name.replace(/,.*/, ''), per_page: 100 })
  return (await callOrders(path, { signal })).data.map(({ id, name, state }) => ({
    id: String(id),
    name,
    label: `${name}, ${state.name}`,
  }))
}

/** @param {{ id?: string, name?: string }} wanted @param {AbortSignal} signal @returns {Promise<Option[]>} */
export const findMerchants = async ({ id, name = '' }, signal) => {
  const path = withQuery('/merchant', { id, name: name.replace(/ \(\d+\)$/, ''), limit: 20 })
  return (await callOrders(path, { signal })).data.map(({ id, name }) => ({ id: String(id), label: `${name} (${id})` }))
}

const orderProps = {
  customer_name: { maxlength: 255 },
  customer_phone: { type: 'tel', maxlength: 50 },
  customer_secondary_phone: { type: 'tel', maxlength: 50 },
  customer_email: { inputmode: 'email', maxlength: 255 },
  customer_address: { maxlength: 1000 },
  destination_city_id: { find: findCities },
  cod: { inputmode: 'numeric', maxlength: 40 },
  weight: { inputmode: 'decimal', maxlength: 40 },
  order_no: { maxlength: 255 },
  description: { maxlength: 1000 },
  remark: { maxlength: 1000 },
}

/** Returns form fields for the named fields of an order. @param {string[]} names */
export const orderFields = names =>
  names.map(name => {
    const label = t(`field.${name.replace('_city_id', '')}`)
    return { name, label: name === 'weight' ? `${label} (kg)` : label, ...orderProps[name] }
  })

/** Waits for a pause in typing. @param {AbortSignal} signal */
export const pause = async signal => {
  await new Promise(resolve => setTimeout(resolve, 300))
  signal.throwIfAborted()
}

/**
 * Lets a person choose one of many rows by a part of its name: `find` reads the rows that match a name or id. `value`
 * is an id, or empty.
 */
const Choice = ({ id, find, value = '', onChange, errors = [], ...more }) => {
  const [text, setText] = useState('')
  const chosen = useLive(signal => (value ? find({ id: value }, signal) : Promise.resolve([])), 0, [value])
  const label = chosen.data?.[0]?.label ?? ''
  // A row that arrives late must not replace the text that a person is typing.
  const isTyping = useRef(false)
  useEffect(() => {
    if (!isTyping.current) setText(label)
  }, [label])
  const isTyped = text.trim().length > 1 && text !== label
  const found = useLive(
    async signal => {
      if (!isTyped) return { of: text.trim(), rows: [] }
      await pause(signal)
      return { of: text.trim(), rows: await find({ name: text.trim() }, signal) }
    },
    0,
    [isTyped && text],
  )
  const rows = /** @type {Option[]} */ (found.data?.rows ?? [])
  const [isMissing, setIsMissing] = useState(false)
  /** Is true from leaving the field until its rows arrive: the name in the field may be that of one row. */
  const isLeft = useRef(false)
  /** Keeps the last chosen row: the field may lose focus before the row is read again. */
  const taken = useRef(/** @type {Option[]} */ ([]))
  /**
   * Chooses the row that the text names or, once typing ends, the only row with that name or the only row found; an
   * unfinished name chooses none.
   */
  const choose = (/** @type {any} */ target, /** @type {boolean} */ isFinished) => {
    const wanted = target.value.trim().toLowerCase()
    const isRead = found.data?.of.toLowerCase() === wanted
    const known = [...(chosen.data ?? []), ...rows, ...taken.current]
    const named = known.find(row => row.label.toLowerCase() === wanted)
    const namesakes = rows.filter(row => row.name?.toLowerCase() === wanted)
    const match = named ?? (isFinished && wanted && isRead ? (findOnly(namesakes) ?? findOnly(rows)) : undefined)
    const isClear = Boolean(match) || wanted === ''
    isLeft.current = isFinished && !isClear && !isRead
    isTyping.current = !isClear
    if (match) taken.current = [match]
    target.setCustomValidity(isClear ? '' : t('choice.unknown'))
    setIsMissing(isFinished && !isClear && isRead)
    if (isClear) onChange(match?.id ?? '')
  }
  useEffect(() => {
    if (isLeft.current && found.data) choose(document.getElementById(id), true)
  }, [found.data])
  return html`<${Field} id=${id} value=${text} list=${`${id}-options`} autocomplete="off" maxlength="255" ...${more}
      errors=${isMissing ? [t('choice.unknown')] : errors} onChange=${event => choose(event.target, true)}
      onInput=${event => {
        setText(event.target.value)
        choose(event.target, false)
      }} />
    <datalist id=${`${id}-options`}>
      ${rows.map(row => html`<option key=${row.id} value=${row.label}></option>`)}</datalist>`
}

/** Shows an input or a checkbox; with `options` or `find`, a choice. */
export const Control = (/** @type {any} */ { options, find, none, onValue, ...field }) => {
  if (find) return html`<${Choice} ...${field} find=${find} onChange=${onValue} />`
  if (field.type === 'checkbox')
    return html`<${Field} ...${field} checked=${field.value === 'true'}
      onChange=${event => onValue(String(event.target.checked))} />`
  if (!options) return html`<${Field} autocomplete="off" ...${field} onInput=${event => onValue(event.target.value)} />`
  return html`<${Field} ...${field} onChange=${event => onValue(event.target.value)}>
    ${none && html`<option value="">${none}</option>`}
    ${options.map((/** @type {Option} */ { id, label }) => html`<option key=${id} value=${id}>${label}</option>`)}<//>`
}

/**
 * Returns a function that posts to the face's part of orders. A request that is repeated until it succeeds takes effect
 * once.
 */
export const usePost = () => {
  const keys = useRef(newKeys())
  return async (/** @type {string} */ path, /** @type {Record<string, unknown>} */ body) => {
    const response = await announced(callOrders(path, { method: 'POST', body, key: keys.current.of([path, body]) }))
    keys.current.done()
    return /** @type {any} */ (response)
  }
}

/**
 * Shows a form whose `fields` are `{ name, label }` and other props of a `Control`; `start` holds their values until a
 * person enters others. `onEnter` gets the entered values at each change, and `send` gets them at the end. Without
 * `send` the form posts the body that `toBody` makes from the values to `path`, and gives the response to `onDone`.
 */
export const Form = (
  /** @type {any} */ { id, fields, start = {}, submit, missing = '', children, onEnter, ...end },
) => {
  const { send, path, toBody = entered => entered, onDone } = end
  const [entered, setEntered] = useState({})
  const post = usePost()
  const action = useAction(async () => {
    if (send) await send(entered)
    else onDone(await post(path, toBody(entered)))
    setEntered({})
  })
  const enter = name => (/** @type {string} */ value) => {
    const next = { ...entered, [name]: value }
    setEntered(next)
    onEnter?.(next)
  }
  return html`<form class="stack" onSubmit=${instead(() => action.run())}>
    <div class="fields">${fields.map(
      ({ name, ...field }) => html`<${Control} key=${name} ...${field} id=${`${id}-${name}`}
        value=${entered[name] ?? start[name] ?? ''} errors=${action.error?.errors?.[name]} onValue=${enter(name)} />`,
    )}</div>
    <${ErrorText} error=${action.error} except=${fields.map(({ name }) => name)} />
    <div class="row"><${Button} kind="primary" type="submit" missing=${missing}
      isBusy=${action.isBusy}>${submit}<//>${children}</div>
  </form>`
}

/** Shows a form below its title, which opens the form. */
export const FoldedForm = ({ title, submit = title, kind = '', hint = '', ...form }) =>
  html`<details class=${kind}><summary>${title}</summary>${hint && html`<p class="hint">${hint}</p>`}
    <${Form} submit=${submit} ...${form} /></details>`
