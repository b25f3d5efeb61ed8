import { identifyPerson } from '@courier/shared/phone-number.ts'
import { type Keyring, openAs, sealAs, tryOpen } from '@courier/shared/vault.ts'
import type { Person } from '../../core/conversations/conversation.ts'
import { type Component, type Content, isPlain, tokenPrefix } from '../../core/messaging-api/message-template.ts'

/** A button works for this long after its message was claimed for sending. */
const lifeSeconds = 7 * 86_400
/** The platform repeats webhooks for this long (docs/contributors/messaging-api.md#delivery). */
const redeliverySeconds = 7 * 86_400

export interface ActionButton {
  readonly messageId: string
  readonly index: number
  readonly action: string
  readonly waybill: string
}

/** Binds tokens to these texts: a token opens only for the person and the number of its message. */
const reference = ({ tenant, phoneNumberId, recipient }: Person) => [
  'courier button 1',
  tenant,
  phoneNumberId,
  identifyPerson(recipient),
]

/** Seals an action, without the person, in at most 256 characters (docs/contributors/messaging-api.md#components). */
export const sealButton = (keyring: Keyring, person: Person, button: ActionButton, now: Date): string => {
  const expires = Math.floor(now.getTime() / 1000) + lifeSeconds
  const { messageId, index, action, waybill } = button
  const text = [expires.toString(36), index, action, messageId, waybill].join(' ')
  return tokenPrefix + sealAs(keyring, reference(person), text).sealed.toString('base64url')
}

/** `unreadable` tokens are forged, altered, sealed with a lost key, or made for another tenant, number or person. */
type OpenedButton = { kind: 'opened'; button: ActionButton } | { kind: 'unreadable' } | { kind: 'expired' }

/** Opens a token. A press counts by its own time; the platform may report it late. */
export const openButton = (
  keyring: Keyring,
  person: Person,
  token: string,
  pressedAt: Date,
  now: Date,
): OpenedButton => {
  const encoded = token.slice(tokenPrefix.length)
  const sealed = Buffer.from(encoded, 'base64url')
  // Several texts decode to the same bytes: only ours is accepted.
  if (sealed.toString('base64url') !== encoded) return { kind: 'unreadable' }
  for (const keyId of keyring.keys.keys()) {
    const text = tryOpen(() => openAs(keyring, reference(person), { keyId, sealed }))
    const parts = text === undefined ? null : /^([0-9a-z]+) (\d) (\S+) (\S+) (.+)$/s.exec(text)
    if (!parts) continue
    const [, expires = '', index, action = '', messageId = '', waybill = ''] = parts
    const end = Number.parseInt(expires, 36) * 1000
    if (pressedAt.getTime() > end || now.getTime() > end + redeliverySeconds * 1000) return { kind: 'expired' }
    return { kind: 'opened', button: { messageId, index: Number(index), action, waybill } }
  }
  return { kind: 'unreadable' }
}

/** Returns the content to send, with a token in place of each action. */
export const sealActions = (
  keyring: Keyring,
  message: Person & { readonly id: string; readonly waybillNumber?: string | null },
  content: Content,
  now: Date,
): Content => {
  const { id: messageId, waybillNumber } = message
  const seal = (action: string, index: number) =>
    sealButton(keyring, message, { messageId, index, action, waybill: waybillNumber ?? '' }, now)
  if (isPlain(content)) {
    const { button } = content
    return button ? { ...content, button: { ...button, action: seal(button.action, 0) } } : content
  }
  if (!content.components.some(({ action }) => action !== undefined)) return content
  const sealOne = ({ action, ...component }: Component): Component =>
    action === undefined
      ? component
      : { ...component, parameters: [{ type: 'payload', payload: seal(action, Number(component.index)) }] }
  return { ...content, components: content.components.map(sealOne) }
}
