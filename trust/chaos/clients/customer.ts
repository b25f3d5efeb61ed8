import type { Bed } from '../bed.ts'
import type { Evidence, Press } from '../evidence.ts'
import type { Happened } from '../faults.ts'
import { type Act, type Chance, leaver, pick } from './client.ts'

/** People who press buttons of the messages that they got, write an address, or stop. The simulator accepts what they do at once. */
export const customer = (
  bed: Bed,
  chance: Chance,
  presses: Press[],
  stops: Evidence['stops'],
  log: Happened[],
): Act => {
  const { control } = bed.courier
  const note = (text: string) => log.push({ at: Date.now(), text: `a customer ${text}` })
  return async () => {
    const { data } = await control('/messages?limit=200')
    const offers = data.filter(
      ({ template }: { template: { name: string } | null }) => template?.name === 'delivery_options',
    )
    const offer = pick<{ id: string; to: string; biz_opaque_callback_data: string }>(offers, chance)
    if (!offer) return
    const [index, message] = [Math.floor(chance() * 4), offer.biz_opaque_callback_data]
    const copies = 1 + Math.floor(chance() * 3)
    const { id } = await control('/presses', { message_id: offer.id, index, copies })
    presses.push({ message, index, inbound: id, copies })
    note(`presses ${message} ${index}`)
    if (index === 2 && chance() < 0.7) await control('/inbound', { from: offer.to, text: `New Road of ${message}` })
    if (chance() > 0.05) return
    const person = leaver(1, chance)
    const written = await control('/inbound', { from: person, text: 'STOP' })
    stops.push({ person, inbound: written.id })
    note(`${person} writes STOP`)
  }
}
