import type { Bed } from '../bed.ts'
import type { Evidence } from '../evidence.ts'
import type { Happened } from '../faults.ts'
import { type Act, type Chance, leaver, pick } from './client.ts'

/** A message that a person got, as the simulator shows it. */
interface Got {
  readonly id: string
  readonly to: string
  readonly template: { readonly name: string } | null
  readonly rendered: { readonly buttons: readonly string[] }
  readonly biz_opaque_callback_data: string
}

/** People press buttons, write addresses, confirm new ones, or stop. The simulator accepts what they do at once. */
export const customer = (
  { courier: { control } }: Bed,
  chance: Chance,
  { presses, texts, stops }: Pick<Evidence, 'presses' | 'texts' | 'stops'>,
  log: Happened[],
): Act => {
  const note = (text: string) => log.push({ at: Date.now(), text: `a customer ${text}` })
  const write = async (from: string, text: string): Promise<string> => {
    note(`${from} writes ${text}`)
    return (await control('/inbound', { from, text })).id
  }
  return async n => {
    const { data }: { data: Got[] } = await control('/messages?limit=200')
    const offers = data.filter(({ template }) => template?.name === 'delivery_options')
    const questions = data.filter(({ template, rendered }) => template === null && rendered.buttons.length > 0)
    const confirms = chance() < 0.3
    const got = pick(confirms ? questions.slice(0, 3) : offers, chance)
    if (!got) return
    const [index, message] = [confirms ? 0 : Math.floor(chance() * 4), got.biz_opaque_callback_data]
    const copies = 1 + Math.floor(chance() * 3)
    const { id } = await control('/presses', { message_id: got.id, index, copies })
    presses.push({ message, index, inbound: id, copies })
    note(`presses ${message} ${index}`)
    if (index === 2 && chance() < 0.7) {
      const text = `${n} New Road`
      texts.push({ person: got.to, text })
      await write(got.to, text)
    }
    if (chance() > 0.05) return
    const person = leaver(1, chance)
    stops.push({ person, inbound: await write(person, 'STOP') })
  }
}
