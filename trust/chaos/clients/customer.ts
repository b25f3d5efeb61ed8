import { sealButton } from '../../../services/notifier/capabilities/customer-actions/button-token.ts'
import { readKeyring } from '../../../services/notifier/core/channels/vault.ts'
import { phoneNumberId } from '../../../services/notifier/test/fixture.ts'
import { pick } from '../plan.ts'
import { type Act, type Client, pickLeaver } from './client.ts'

/** Describes a message as the simulator shows it to a person. */
interface Got {
  readonly id: string
  readonly to: string
  readonly template: { readonly name: string } | null
  readonly components: readonly object[]
  readonly rendered: { readonly buttons: readonly string[] }
  readonly biz_opaque_callback_data: string
}

/** Lists how webhooks name people (simulator/basics/behaviour.ts). */
const namings = ['phones', 'both', 'user_ids', 'user_ids_in_from'] as const

/** No message has a button at this index, so an action from it was forged. */
const forgedIndex = 7
const stranger = '94779999999'

/**
 * Acts as people: they press buttons, write addresses, confirm them, or write STOP. The simulator accepts their acts at
 * once. The first customer decides how all webhooks name people, and forges presses: as another person only while they
 * have the number, since a user id that nobody knows may be anybody's.
 */
export const customer = ({ bed: { courier }, who, chance, known, made, log }: Client): Act => {
  const { control, notifier } = courier
  const keyring = readKeyring(notifier.environment.CREDENTIALS_KEYS ?? '')
  const isFirst = who === 'customer0'
  const nameBy = (people: (typeof namings)[number]) => control('/behaviour', { people }, 'PUT')
  const note = (text: string) => log.push({ at: Date.now(), text: `a customer ${text}` })
  const write = async (from: string, text: string): Promise<string> => {
    note(`${from} writes ${text}`)
    return (await control('/inbound', { from, text })).id
  }
  /**
   * Presses in ways that must change nothing: as another person, with an altered, a stale or another tenant's payload.
   */
  const forge = async ({ id, to, components, biz_opaque_callback_data: messageId }: Got): Promise<void> => {
    const button = {
      messageId,
      index: forgedIndex,
      action: 'cancel_order',
      waybill: pick(known, chance)?.waybill ?? '',
    }
    const person = { tenant: 'demo', phoneNumberId, recipient: to }
    const payload = /"payload":"([^"]+)"/.exec(JSON.stringify(components))?.[1] ?? ''
    const payloads = [
      payload.replace(/.(.{8})$/, letter => (letter.startsWith('A') ? 'B' : 'A') + letter.slice(1)),
      sealButton(keyring, person, button, new Date(Date.now() - 8 * 86_400_000)),
      sealButton(keyring, { ...person, tenant: 'rival' }, button, new Date()),
    ]
    await nameBy(chance() < 0.5 ? 'phones' : 'both')
    await control('/presses', { message_id: id, index: 1, from: stranger })
    await nameBy(pick(namings, chance))
    for (const payload of payloads) await control('/inbound', { from: to, button: { text: 'Cancel it', payload } })
  }
  return async n => {
    const { data }: { data: Got[] } = await control('/messages?limit=200')
    const offers = data.filter(({ template }) => template?.name === 'delivery_options')
    const questions = data.filter(({ template, rendered }) => template === null && rendered.buttons.length > 0)
    if (isFirst) await nameBy(pick(namings, chance))
    const confirms = chance() < 0.3
    const got = pick(confirms ? questions.slice(0, 3) : offers, chance)
    if (!got) return
    if (isFirst && !confirms && chance() < 0.3) await forge(got)
    const [index, message] = [confirms ? 0 : Math.floor(chance() * 4), got.biz_opaque_callback_data]
    const copies = 1 + Math.floor(chance() * 3)
    const { id } = await control('/presses', { message_id: got.id, index, copies })
    made.presses.push({ message, index, inbound: id, copies })
    note(`presses ${message} ${index}`)
    if (index === 2 && chance() < 0.7) {
      const text = `${n} Road of ${who}`
      made.texts.push({ person: got.to, text })
      await write(got.to, text)
    }
    if (chance() > 0.05) return
    const person = pickLeaver(1, chance)
    made.stops.push({ person, inbound: await write(person, 'STOP') })
  }
}
