// Forms: fields with their errors under them.
import { newKeys, orders } from './api.js'
import { t } from './i18n.js'
import { html, useEffect, useRef, useState } from './preact.js'
import { announced, Button, ErrorText, Field, instead, useAction, useLive } from './ui.js'

/** @typedef {{ id: string, label: string }} Option */

/** Waits for a pause in typing. @param {AbortSignal} signal */
export const pause = async signal => {
  await new Promise(resolve => setTimeout(resolve, 300))
  signal.throwIfAborted()
}

/**
 * A choice of one of many rows by a part of its name: `find` reads the rows of a name or id. `value` is an id, empty
 * for none.
 */
const Choice = ({ id, find, value = '', onChange, errors = [], ...more }) => {
  const [text, setText] = useState('')
  const chosen = useLive(signal => (value ? find({ id: value }, signal) : Promise.resolve([])), 0, [value])
  const label = chosen.data?.[0]?.label ?? ''
  // A row that arrives late does not replace what is being typed.
  const isTyping = useRef(false)
  useEffect(() => {
    if (!isTyping.current) setText(label)
  }, [label])
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
  /** Keeps the row chosen last: the field may lose focus before the row is read again. */
  const taken = useRef(/** @type {Option[]} */ ([]))
  /** An unfinished name chooses nothing. */
  const choose = ({ target }, isFinished) => {
    const wanted = target.value.trim().toLowerCase()
    const named = [...(chosen.data ?? []), ...rows, ...taken.current].find(row => row.label.toLowerCase() === wanted)
    const match = named ?? (isFinished && wanted && rows.length === 1 ? rows[0] : undefined)
    const isClear = Boolean(match) || wanted === ''
    isTyping.current = !isClear
    if (match) taken.current = [match]
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

/** An input; with `options` or `find`, a choice. */
export const Control = (/** @type {any} */ { options, find, none, onValue, ...field }) => {
  if (find) return html`<${Choice} ...${field} find=${find} onChange=${onValue} />`
  if (field.type === 'checkbox')
    return html`<${Field} ...${field} checked=${field.value === 'true'} onChange=${event => onValue(String(event.target.checked))} />`
  if (!options) return html`<${Field} autocomplete="off" ...${field} onInput=${event => onValue(event.target.value)} />`
  return html`<${Field} ...${field} onChange=${event => onValue(event.target.value)}>
    ${none && html`<option value="">${none}</option>`}
    ${options.map((/** @type {Option} */ { id, label }) => html`<option key=${id} value=${id}>${label}</option>`)}<//>`
}

/** Returns a function that posts to orders: the same request repeated, until it succeeded, takes effect once. */
export const usePost = () => {
  const keys = useRef(newKeys())
  return async (/** @type {string} */ path, /** @type {Record<string, unknown>} */ body) => {
    const response = await announced(orders(path, { method: 'POST', body, key: keys.current.of([path, body]) }))
    keys.current.done()
    return /** @type {any} */ (response)
  }
}

/**
 * A form whose `fields` are `{ name, label }` and other props of a `Control`. `send` gets the entered values, and those
 * of `start` for fields that were left alone. `onEnter` gets the entered values at each change.
 */
export const Form = ({
  id,
  fields,
  start = {},
  submit,
  send,
  onEnter = /** @type {any} */ (undefined),
  children = undefined,
}) => {
  const [entered, setEntered] = useState({})
  const action = useAction(async () => {
    await send(entered)
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
        value=${entered[name] ?? start[name] ?? ''} errors=${action.error?.errors[name]} onValue=${enter(name)} />`,
    )}</div>
    <${ErrorText} error=${action.error} except=${fields.map(({ name }) => name)} />
    <div class="row"><${Button} kind="primary" type="submit" isBusy=${action.isBusy}>${submit}<//>${children}</div>
  </form>`
}
