/**
 * Lists the currencies of ISO 4217 whose smallest unit is not a hundredth, by their number of decimals. Node's own
 * list follows CLDR, which writes 17 others, such as PKR and IDR, without the decimals that ISO 4217 gives them.
 */
const byDecimals: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}
const others = Object.entries(byDecimals).map(([decimals, codes]) => [Number(decimals), codes.split(' ')] as const)
const decimalsByCurrency = new Map(others.flatMap(([decimals, codes]) => codes.map(code => [code, decimals] as const)))

/** Returns how many decimals the amounts of a currency have. */
export const findDecimals = (currency: string): number => decimalsByCurrency.get(currency) ?? 2

/** Writes an amount with all decimals of its currency, such as 15451.80. */
export const writeAmount = (amount: number, currency: string): string => amount.toFixed(findDecimals(currency))

/** Selects in SQL what `findDecimals` returns for a column. */
export const decimalsSql = (column: string): string =>
  `case ${others.map(([decimals, codes]) => `when ${column} in ('${codes.join(`', '`)}') then ${decimals}`).join(' ')}
    else 2 end`

/** Returns what is wrong with an amount that is finer than its currency; undefined: nothing is. */
export const refuseDecimals = (name: string, amount: number, currency: string): string | undefined => {
  const decimals = findDecimals(currency)
  const isFine = Number(amount.toFixed(decimals)) !== amount
  return isFine ? `${name} ${amount} has too many decimals: ${currency} has ${decimals || 'none'}.` : undefined
}

/** Adds amounts exactly, as decimals: sums of binary fractions drift. */
export const addAmounts = (amounts: Iterable<number>): number => {
  let units = 0n
  for (const amount of amounts) {
    const [whole = '', fraction = ''] = String(amount).split('.')
    units += BigInt(whole + fraction.padEnd(mostDecimals, '0'))
  }
  const digits = String(units < 0n ? -units : units).padStart(mostDecimals + 1, '0')
  const sum = Number(`${digits.slice(0, -mostDecimals)}.${digits.slice(-mostDecimals)}`)
  return units < 0n ? -sum : sum
}

const mostDecimals = 4
