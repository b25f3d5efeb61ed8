import { type OrderFacts, orderFields } from '@courier/shared/order-facts.ts'

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g

const isField = (name: string): name is keyof OrderFacts => (orderFields as string[]).includes(name)

export const hasPlaceholder = (text: string): boolean => text.search(placeholder) >= 0

/** What is wrong with the fields that a text names; undefined when an order has them all. */
export const placeholderFault = (text: string): string | undefined => {
  const unknown = [...text.matchAll(placeholder)].map(([, name = '']) => name).filter(name => !isField(name))
  if (unknown.length === 0) return undefined
  const named = unknown.map(name => `{{${name}}}`).join(', ')
  return `An order has no field ${named}. It has ${orderFields.join(', ')}.`
}

/** Stands for a value that an order does not have: a parameter must not be empty. */
const nothing = '-'
const maxLength = 1024

/**
 * The text with the order's values in place of `{{field}}`, as the API takes it: blanks, tabs and line breaks are one
 * blank, and it ends after 1,024 characters. Numbers are plain digits.
 */
export const fillText = (text: string, order: OrderFacts): string => {
  const filled = text.replace(placeholder, (_whole, name: string) =>
    isField(name) ? plain(String(order[name] ?? '')) || nothing : nothing,
  )
  return (
    plain(filled)
      .slice(0, maxLength)
      .replace(/[\ud800-\udbff]$/, '')
      .trim() || nothing
  )
}

const plain = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
