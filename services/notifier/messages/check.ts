import type { Faults } from '@courier/shared/http/errors.ts'
import { badText, isBadText } from '@courier/shared/http/faults.ts'
import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js'
import { isOpen } from '../conversations/window.ts'
import type { MessageRequest, MessageTemplate } from './schema.ts'

/** A number that messages may be sent from. */
export interface SendingChannel {
  readonly phoneNumberId: string
  readonly name: string
  readonly plan: 'free' | 'paid'
  readonly isDefault: boolean
  readonly wabaId: string | null
}

export interface Conversation {
  readonly lastInboundAt: Date | null
  readonly optedOutAt: Date | null
}

/** What messages are checked against. */
export interface SendingContext {
  readonly country: string
  readonly channels: readonly SendingChannel[]
  /** What is wrong with a template and its parameters, by the account's catalogue; paths begin with `template`. */
  readonly templateFaults: (channel: SendingChannel, template: MessageTemplate) => Faults
  readonly conversation: (channel: SendingChannel, recipient: string) => Conversation | undefined
}

/** A message that may be queued. */
export interface CheckedMessage {
  readonly phoneNumberId: string
  readonly recipient: string
  readonly template: MessageTemplate
  readonly waybillNumber: string | null
  readonly sendAt: Date | null
  readonly isHeld: boolean
  readonly holdsUntilOpen: boolean
}

export type CheckedRequest = { kind: 'checked'; message: CheckedMessage } | { kind: 'refused'; faults: Faults }

/** E.164 digits without the plus; undefined for what is no phone number, there or anywhere. */
export const normalisePhone = (text: string, country: string): string | undefined => {
  const direct = parsePhoneNumberFromString(text, country as CountryCode)
  if (direct?.isPossible()) return direct.number.slice(1)
  const international = parsePhoneNumberFromString(`+${text.replace(/\D/g, '')}`)
  return international?.isPossible() ? international.number.slice(1) : undefined
}

/** Everything that is wrong with a message, by path, or the message as it is queued. Pure. */
export const checkMessage = (request: MessageRequest, context: SendingContext, now: Date): CheckedRequest => {
  const faults: Faults = {}
  const channel = chooseChannel(request.channel, context.channels)
  if (!channel)
    faults.channel = [request.channel ? 'The selected channel is invalid.' : 'Name a channel: there is no default one.']
  const recipient = normalisePhone(request.to, context.country)
  if (recipient === undefined) faults.to = ['The to field must be a phone number, such as +94770000101.']
  checkTexts(request, faults)
  const sendAt = readSendAt(request.send_at, now, faults)
  if (channel) Object.assign(faults, context.templateFaults(channel, request.template))
  const conversation = channel && recipient ? context.conversation(channel, recipient) : undefined
  if (conversation?.optedOutAt)
    faults.to = [`This person asked for no more messages on ${conversation.optedOutAt.toISOString()}.`]
  const holdsUntilOpen = request.hold_until_open ?? false
  const isClosed = channel?.plan === 'free' && !isOpen(conversation?.lastInboundAt ?? null, now)
  if (isClosed && !holdsUntilOpen && !sendAt && !faults.to) faults.to = [closedSentence(channel, conversation)]
  if (!channel || recipient === undefined || Object.keys(faults).length > 0) return { kind: 'refused', faults }
  const message = {
    phoneNumberId: channel.phoneNumberId,
    recipient,
    template: request.template,
    waybillNumber: request.waybill_number || null,
    sendAt: sendAt ?? null,
    isHeld: isClosed && holdsUntilOpen && !sendAt,
    holdsUntilOpen,
  }
  return { kind: 'checked', message }
}

/** What a schema cannot say: text that Postgres does not take, and a component that comes twice. */
const checkTexts = ({ waybill_number, template }: MessageRequest, faults: Faults): void => {
  if (isBadText(waybill_number ?? '')) faults.waybill_number = [badText('waybill_number')]
  const seen = new Set<string>()
  for (const [c, { type, parameters }] of template.components.entries()) {
    if (seen.has(type)) faults[`template.components.${c}.type`] = [`The ${type} component is there twice.`]
    seen.add(type)
    for (const [p, { text }] of parameters.entries())
      if (isBadText(text)) faults[`template.components.${c}.parameters.${p}.text`] = [badText('text')]
  }
}

/** The channel named; without a name the default one, or the only one. */
export const chooseChannel = (
  wanted: string | null | undefined,
  channels: readonly SendingChannel[],
): SendingChannel | undefined =>
  wanted
    ? channels.find(({ phoneNumberId }) => phoneNumberId === wanted)
    : (channels.find(({ isDefault }) => isDefault) ?? (channels.length === 1 ? channels[0] : undefined))

const earliestMinutes = 5
const latestDays = 35

const readSendAt = (text: string | null | undefined, now: Date, faults: Faults): Date | undefined => {
  if (!text) return undefined
  const minutes = (new Date(text).getTime() - now.getTime()) / 60_000
  if (minutes >= earliestMinutes && minutes <= latestDays * 24 * 60) return new Date(text)
  faults.send_at = [`The send at field must be ${earliestMinutes} minutes to ${latestDays} days from now.`]
  return undefined
}

const closedSentence = (channel: SendingChannel | undefined, conversation: Conversation | undefined): string => {
  const last = conversation?.lastInboundAt
  const ended = last ? ` The last one ended 24 hours after ${last.toISOString()}.` : ''
  return `No conversation with this number is open.${ended} It opens for 24 hours when the customer writes to ${channel?.name}; or set hold_until_open to send the message then.`
}
