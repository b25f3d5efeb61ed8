import { beforePickup, classifyStatus } from '../statuses/statuses.ts'

/** The steps of a parcel that will arrive. */
export const steps = ['booked', 'on_its_way', 'out_for_delivery', 'delivered'] as const
export type Stage = (typeof steps)[number] | 'delayed' | 'returned' | 'cancelled'

const outForDeliveryKey = 'key_12'
const delayedKeys: readonly string[] = ['key_15', 'key_16', 'key_17']

/** Returns the stage of a parcel for its recipient. A company's own statuses are under way. Pure. */
export const findStage = (statusKey: string): Stage => {
  if (beforePickup.includes(statusKey)) return 'booked'
  if (statusKey === outForDeliveryKey) return 'out_for_delivery'
  if (delayedKeys.includes(statusKey)) return 'delayed'
  const kind = classifyStatus(statusKey)
  return kind === 'delivered' || kind === 'returned' || kind === 'cancelled' ? kind : 'on_its_way'
}

/** Returns how many of the steps are done. */
export const stepsDone = (stage: Stage): number => (stage === 'delayed' ? 2 : steps.indexOf(stage as 'booked') + 1)
