import type { Capability } from '../../capability.ts'
import type { Admission } from '../../core/sending/admission.ts'
import { endWindows, joinParcels, keepOldest } from './join-parcels.ts'
import { perPersonPart } from './rule-fields.ts'

/** Claims the oldest of the messages that may leave as one; the others leave with it. */
export const admitPerPerson: Admission = tx => ({
  reserve: async sendable => keepOldest(sendable),
  carry: marked => joinParcels(tx, marked),
})

/** Sends one message about several parcels of a person. */
export const perPerson: Capability = {
  admission: admitPerPerson,
  events: {
    onQueued: async (tx, tenant, rules, first) => {
      if (rules.some(rule => rule.within_minutes !== null)) await endWindows(tx, tenant, first)
    },
  },
  file: perPersonPart,
}
