// Finds the parameters of a template, and builds the components of a message from their values. All functions are pure.

/**
 * @typedef {{
 *   id: string, part: 'header' | 'body' | 'button', label: string, type: string, name?: string, index?: number,
 *   guess: string
 * }} Parameter
 */

/** Lists the fields of an order that texts may name. */
export const orderFields = [
  'customer_name',
  'waybill_number',
  'business_name',
  'cod',
  'order_no',
  'status_name',
  'destination_city',
]

/** Lists the distinct variables in the order in which a message gives them: positional variables by number. */
const placeholders = text => {
  const found = [...(text ?? '').matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name], at, all) => ({
    name,
    before: text.slice(at ? all[at - 1].index : 0, all[at].index),
  }))
  const distinct = found.filter(({ name }, at) => found.findIndex(each => each.name === name) === at)
  return distinct.sort((a, b) => Number(a.name) - Number(b.name) || 0)
}

/**
 * Guesses which field of the order fills a parameter; the form shows the guess before anything is sent.
 * @param {string} before
 * @param {string} name
 */
const guess = (before, name) => {
  if (orderFields.includes(name)) return `{{${name}}}`
  if (/(hello|hi|dear|ආයුබෝවන්|வணக்கம்)\s*$/i.test(before)) return '{{customer_name}}'
  return /(parcel|waybill|පාර්සලය|பொதி)\s*$/i.test(before) ? '{{waybill_number}}' : ''
}

/** @param {Parameter['part']} part @param {string} text @param {object} more @returns {Parameter[]} */
const listTexts = (part, text, more = {}) =>
  placeholders(text).map(({ name, before }) => ({
    id: `${part}-${name}`,
    part,
    label: name,
    type: 'text',
    guess: guess(before, name),
    ...(/^\d+$/.test(name) ? {} : { name }),
    ...more,
  }))

const media = ['IMAGE', 'VIDEO', 'DOCUMENT']

/** Returns undefined if a template has a part that the console cannot fill in. @returns {Parameter[] | undefined} */
export const findParameters = ({ components }) => {
  const wanted = components.map(({ type, format, text, buttons = [] }) => {
    if (type === 'HEADER' && media.includes(format))
      return [
        {
          id: 'header-link',
          part: 'header',
          label: format.toLowerCase(),
          type: format.toLowerCase(),
          guess: 'https://',
        },
      ]
    if (type === 'HEADER' && format === 'TEXT') return listTexts('header', text)
    if (type === 'BODY') return listTexts('body', text)
    if (type === 'BUTTONS') return listButtons(buttons)
    return type === 'FOOTER' ? [] : undefined
  })
  return wanted.includes(undefined) ? undefined : wanted.flat()
}

const listButtons = buttons => {
  if (buttons.some(({ type }) => !['QUICK_REPLY', 'URL', 'PHONE_NUMBER'].includes(type))) return undefined
  return buttons.flatMap(({ type, url, text }, index) =>
    type === 'URL' ? listTexts('button', url, { id: `button-${index}`, index, label: text }) : [],
  )
}

/** @param {Parameter[]} parameters @param {Record<string, string>} values by id */
export const buildComponents = (parameters, values) => {
  const components = new Map()
  for (const { id, part, type, name, index } of parameters) {
    const key = `${part} ${index ?? ''}`
    const component = components.get(key) ?? {
      type: part,
      ...(index !== undefined && { sub_type: 'url', index: String(index) }),
      parameters: [],
    }
    const value = type === 'text' ? values[id] : { link: values[id] }
    component.parameters.push({ type, [type]: value, ...(name && part !== 'button' && { parameter_name: name }) })
    components.set(key, component)
  }
  return [...components.values()]
}
