/** Returns the median; from an even number of values, the upper of the middle two. NaN for no values. */
export const median = (values: readonly number[]): number => percentile(values, 0.5)

/** Returns the value below which `share` (0 to 1) of the values lie. NaN for no values. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

export const roundTo = (value: number, decimals = 0): number => Number(value.toFixed(decimals))
