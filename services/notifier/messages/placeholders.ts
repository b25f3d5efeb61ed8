import { type OrderSnapshot, orderFields } from '@courier/shared/contract/order-events.ts'
import { type Component, mapTexts } from '../messaging-api/message-template.ts'

const placeholder = /\{\{([^{}]*)\}\}/g

const isField = (name: string): name is keyof OrderSnapshot => (orderFields as string[]).includes(name)

export const hasPlaceholder = (text: string): boolean => text.search(placeholder) >= 0

/** Whether a `{{` or `}}` is left that no placeholder has: it would be sent as it is. */
export const isOpenPlaceholder = (text: string): boolean => /\{\{|\}\}/.test(text.replace(placeholder, ''))

/** The error of a text that names unknown fields; undefined when an order has them all. */
export const placeholderError = (text: string): string | undefined => {
  const unknown = [...text.matchAll(placeholder)].map(([, name = '']) => name.trim()).filter(name => !isField(name))
  if (unknown.length === 0) return undefined
  const named = unknown.map(name => `{{${name}}}`).join(', ')
  return `An order has no field ${named}. It has ${orderFields.join(', ')}.`
}

/** Replaces a missing value: a parameter must not be empty. */
const nothing = '-'
const maxLength = 1024

/**
 * The text with the order's values in place of `{{field}}`, as the API accepts it: blanks, tabs and line breaks are one
 * blank, and it ends after 1,024 characters. Numbers are plain digits.
 */
export const fillText = (text: string, order: OrderSnapshot, encode = (value: string) => value): string => {
  const filled = text.replace(placeholder, (_whole, inner: string) => {
    const name = inner.trim()
    return encode(isField(name) ? plain(String(order[name] ?? '')) || nothing : nothing)
  })
  return (
    plain(filled)
      .slice(0, maxLength)
      .replace(/[\ud800-\udbff]$/, '')
      .trim() || nothing
  )
}

/** The component with the order's values in its texts; in addresses they are percent-encoded. */
export const fillComponent = (component: Component, order: OrderSnapshot): Component => ({
  ...component,
  parameters: component.parameters.map(parameter =>
    mapTexts(component, parameter, ({ text, isAddress }) =>
      hasPlaceholder(text) ? fillText(text, order, isAddress ? encodeURIComponent : undefined) : text,
    ),
  ),
})

const plain = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
