/** Says what the platform bills from a day on (docs/contributors/messaging-api.md#pricing). */
interface BillingRule {
  /** Names a day by the clocks of the tenant. */
  readonly effective_from: string
  /** True if a utility template within an open window costs what it costs outside. */
  readonly billsUtilityInWindow: boolean
  /** Prices a service message, such as a reply of staff, that has no tariff of its own; null means that it is free. */
  readonly serviceTariff: 'utility' | null
  /** Counts the service messages of one number and month that are free all the same. */
  readonly freeServiceMessages: number
}

const rules: readonly BillingRule[] = [
  { effective_from: '2026-10-01', billsUtilityInWindow: true, serviceTariff: 'utility', freeServiceMessages: 1000 },
  { effective_from: '0001-01-01', billsUtilityInWindow: false, serviceTariff: null, freeServiceMessages: 0 },
]

/** Finds the rule of a day, such as 2026-11-27. */
export const findBillingRule = (day: string): BillingRule =>
  rules.find(({ effective_from }) => effective_from <= day) ?? (rules.at(-1) as BillingRule)

/** Is the first day on which a service message costs what a utility message does. */
export const serviceBilledFrom = rules.findLast(({ serviceTariff }) => serviceTariff !== null)?.effective_from ?? ''
