/** Returns the upper middle one of an even number of values; NaN for none. */
export const median = (values: readonly number[]): number => percentile(values, 0.5)

/** Returns the value below which that share (0 to 1) of the values lies. NaN for none. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

export const rounded = (value: number, decimals = 0): number => Number(value.toFixed(decimals))
