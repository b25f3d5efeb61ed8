import { findDecimals } from '@courier/shared/currency.ts'

const small = [
  ...['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'],
  ...['thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen'],
]
const tens = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']
const groups = [
  [1_000_000_000_000, 'trillion'],
  [1_000_000_000, 'billion'],
  [1_000_000, 'million'],
  [1000, 'thousand'],
  [100, 'hundred'],
] as const

const wordNumber = (value: number): string => {
  for (const [size, name] of groups) {
    const [count, rest] = [Math.floor(value / size), value % size]
    if (count > 0) return `${wordNumber(count)} ${name}${rest === 0 ? '' : ` ${wordNumber(rest)}`}`
  }
  if (value < 20) return small[value] ?? ''
  return `${tens[Math.floor(value / 10)]}${value % 10 === 0 ? '' : `-${small[value % 10]}`}`
}

/** Writes an amount in English words: `LKR seven hundred forty-three and 40/100`. */
export const wordSum = (amount: number, currency: string): string => {
  const decimals = findDecimals(currency)
  const [whole = '', fraction = ''] = amount.toFixed(decimals).split('.')
  const words = `${currency} ${wordNumber(Number(whole))}`
  return Number(fraction) === 0 ? `${words} only` : `${words} and ${fraction}/${10 ** decimals}`
}
