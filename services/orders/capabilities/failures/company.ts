import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type CompanyPart, defineFields } from '../../core/provisioning/company-part.ts'
import { Name } from '../../core/provisioning/tenant-file.ts'

const Reason = closed({
  code: Type.String({ maxLength: 63, pattern: '^[a-z][a-z0-9_]*$', must: 'be 1 to 63 of a-z, 0-9 and _' }),
  name: Name,
})

/** Describes what follows a failed delivery (docs/staff/failed-deliveries.md#settings). */
const FailedDeliveries = closed({
  reasons: Type.Optional(Type.Array(Reason, { minItems: 1, maxItems: 50 })),
  /** Limits the time in which the customer and the merchant may say what happens. */
  instruction_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 720, must: 'be 1 to 720 hours' })),
  /** Applies when neither the customer nor the merchant says what happens. */
  instruction_default: Type.Optional(oneOf(['reattempt', 'return'], { must: 'be reattempt or return' })),
  /** Lets merchants read how many parcels of a phone number were delivered and how many came back. */
  recipient_history: Type.Optional(Type.Boolean()),
})
type Settings = { failed_deliveries?: Static<typeof FailedDeliveries> }

/** Adds what follows a failed delivery to the company file. */
export const failuresPart: CompanyPart = {
  tenant: defineFields({ failed_deliveries: Type.Optional(FailedDeliveries) }, ({ failed_deliveries: given = {} }) => ({
    failure_reasons: given.reasons ? JSON.stringify(given.reasons) : null,
    instruction_hours: given.instruction_hours ?? 48,
    instruction_default: given.instruction_default ?? 'reattempt',
    recipient_history: given.recipient_history ?? false,
  })),
  check: ({ tenant }) => {
    const codes = ((tenant as Settings).failed_deliveries?.reasons ?? []).map(({ code }) => code)
    return Object.fromEntries(
      codes.flatMap((code, index) =>
        codes.indexOf(code) < index
          ? [[`tenant.failed_deliveries.reasons.${index}.code`, [`The reason code ${code} appears twice.`]]]
          : [],
      ),
    )
  },
}
