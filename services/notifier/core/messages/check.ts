import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, isBlank, required } from '@courier/shared/errors/field-errors.ts'
import { type Conversation, expiresAt, isOpen } from '../conversations/conversation.ts'
import { chooseChannel } from '../conversations/queries.ts'
import type { ChannelRow } from '../database/tables.ts'
import {
  type Content,
  isPlain,
  listTexts,
  type MessageTemplate,
  type Parameter,
  parameterTypes,
  tokenPrefix,
} from '../messaging-api/message-template.ts'
import { isUserId } from '../messaging-api/user-id.ts'
import { type CatalogueTemplate, dissect } from '../templates/catalogue.ts'
import { type Hours, type nextAllowed, waitsFor } from './hours.ts'
import type { Source } from './placeholders.ts'
import type { MessageRequest } from './schema.ts'

export interface SendingContext {
  /** Comes from Postgres' clock. */
  readonly now: Date
  readonly hours: Hours | undefined
  readonly nextAllowed: typeof nextAllowed
  /** Returns E.164 digits without the plus, or a user id; undefined if the text is neither. */
  readonly readRecipient: (to: string) => string | undefined
  readonly channels: readonly ChannelRow[]
  /** Checks a template and its parameters against the account's catalogue; paths of errors begin with `template`. */
  readonly templateErrors: (channel: ChannelRow, template: MessageTemplate) => FieldErrors
  readonly conversation: (channel: ChannelRow, recipient: string) => Conversation | undefined
  readonly catalogued: (channel: ChannelRow, template: MessageTemplate) => CatalogueTemplate | undefined
  /** Exempts utility messages about a parcel that is under way from opt-outs. */
  readonly exemptsParcels: boolean
}

export interface CheckedMessage {
  readonly phoneNumberId: string
  readonly recipient: string
  readonly template: Content
  readonly waybillNumber: string | null
  readonly sendAt: Date | null
  readonly isHeld: boolean
  readonly holdsUntilOpen: boolean
  /** The message is sent even to a person who opted out. */
  readonly isExempt: boolean
  /** null means at any time. */
  readonly hours: Hours | null
  /** Says why it is sent later than requested. */
  readonly waitsFor: string | null
  /** null means that no part of it comes from an order. */
  readonly source: Source | null
  /** Names the rule whose messages to one person may leave as one; null means that it leaves alone. */
  readonly joins: string | null
}

type CheckedRequest =
  | { kind: 'checked'; message: CheckedMessage }
  /** `message` is set if its number and recipient are known. */
  | { kind: 'refused'; errors: FieldErrors; message: CheckedMessage | undefined }

/** Returns all errors of a message by path, or the message to queue. */
export const checkMessage = (request: MessageRequest, context: SendingContext): CheckedRequest => {
  const { now } = context
  const errors: FieldErrors = {}
  const channel = chooseChannel(request.channel, context.channels)
  if (!channel)
    errors.channel = [request.channel ? 'The selected channel is invalid.' : 'Name a channel: there is no default one.']
  const recipient = context.readRecipient(request.to)
  if (recipient === undefined) errors.to = ['The to field must be a phone number, such as +94770000101.']
  checkTexts(request, errors)
  if (request.missing) errors.template = [request.missing]
  const sendAt = readSendAt(request.send_at, now, errors) ?? findWindowEnd(request, now)
  const hours = request.respect_hours ? context.hours : request.hours
  if (request.respect_hours && !hours) errors.respect_hours = ['The tenant has no hours.']
  const template = isPlain(request.template) ? undefined : request.template
  if (channel && template) Object.assign(errors, context.templateErrors(channel, template))
  if (recipient && isUserId(recipient) && channel && template && hasCode(context.catalogued(channel, template)))
    errors.to = ['An authentication template with a code needs a phone number, and the person has none here.']
  const conversation = channel && recipient ? context.conversation(channel, recipient) : undefined
  const category = channel && template && readCategory(context.catalogued(channel, template))
  const isExempt = exempts(context, category, request)
  const optOut = conversation && describeOptOut(conversation, isExempt, category === 'MARKETING')
  if (optOut) errors.to = [optOut]
  const holdsUntilOpen = request.hold_until_open ?? false
  const needsOpen = channel?.plan === 'free' || !template
  const isClosed = needsOpen && !isOpen(conversation?.lastInboundAt ?? null, now)
  if (isClosed && !holdsUntilOpen && !sendAt && !errors.to)
    errors.to = [describeClosed(channel, conversation, !template)]
  if (!channel || recipient === undefined) return { kind: 'refused', errors, message: undefined }
  const wanted = sendAt ?? now
  const allowed = hours ? context.nextAllowed(wanted, hours) : wanted
  const message = {
    phoneNumberId: channel.phone_number_id,
    recipient,
    template: request.template,
    waybillNumber: isBlank(request.waybill_number) ? null : (request.waybill_number ?? null),
    sendAt: allowed > wanted ? allowed : (sendAt ?? null),
    isHeld: isClosed && holdsUntilOpen && !sendAt,
    holdsUntilOpen,
    isExempt,
    hours: hours ?? null,
    waitsFor:
      hours && allowed > wanted
        ? waitsFor(hours)
        : request.window && sendAt
          ? 'waits: other parcels of the person may join'
          : null,
    source: request.source ?? null,
    joins: request.window?.joins ?? null,
  }
  return Object.keys(errors).length > 0 ? { kind: 'refused', errors, message } : { kind: 'checked', message }
}

/** Returns true if a template hands a code over by a button (docs/contributors/messaging-api.md#people). */
const hasCode = (template: CatalogueTemplate | undefined): boolean =>
  template !== undefined && readCategory(template) === 'AUTHENTICATION' && dissect(template).buttons.length > 0

export const readCategory = (template: CatalogueTemplate | undefined): string | undefined =>
  template?.category?.toUpperCase()

export const exempts = (
  { exemptsParcels }: SendingContext,
  category: string | undefined,
  { isUnderWay }: Pick<MessageRequest, 'isUnderWay'>,
): boolean => exemptsParcels && category === 'UTILITY' && isUnderWay === true

/** Checks what the schema cannot: unstorable text, a parameter without its value, a component given twice. */
const checkTexts = ({ waybill_number, template }: MessageRequest, errors: FieldErrors): void => {
  if (isBadText(waybill_number ?? '')) errors.waybill_number = [badText('waybill_number')]
  if (isPlain(template)) return
  for (const { text, path } of listTexts(template))
    if (isBadText(text)) errors[`template.${path}`] = [badText(path.split('.').at(-1) ?? path)]
  const seen = new Set<string>()
  for (const [c, { type, index, parameters }] of template.components.entries()) {
    const path = `template.components.${c}`
    const name = type === 'button' ? `button ${index}` : type
    if (seen.has(name)) errors[`${path}.type`] = [`The ${name} component is there twice.`]
    seen.add(name)
    for (const [p, parameter] of parameters.entries()) checkValue(parameter, `${path}.parameters.${p}`, errors)
  }
}

const checkValue = (parameter: Parameter, path: string, errors: FieldErrors): void => {
  const { type } = parameter
  if (parameter.payload?.startsWith(tokenPrefix))
    errors[`${path}.payload`] = [`The payload field must not begin with ${tokenPrefix}`]
  if (parameter[type] === undefined) errors[`${path}.${type}`] = [required(`${path}.${type}`)]
  for (const other of parameterTypes)
    if (other !== type && parameter[other] !== undefined)
      errors[`${path}.${other}`] = [`A parameter of type ${type} has no ${other}.`]
}

const describeOptOut = ({ optedOutAt, marketingOutAt }: Conversation, isExempt: boolean, isMarketing: boolean) => {
  if (optedOutAt && !isExempt) return `This person asked for no more messages on ${optedOutAt.toISOString()}.`
  if (!marketingOutAt || !isMarketing) return undefined
  return `This person asked for no marketing messages on ${marketingOutAt.toISOString()}.`
}

const earliestMinutes = 5
const latestDays = 35

const readSendAt = (text: string | null | undefined, now: Date, errors: FieldErrors): Date | undefined => {
  if (!text) return undefined
  const minutes = (new Date(text).getTime() - now.getTime()) / 60_000
  if (minutes >= earliestMinutes && minutes <= latestDays * 24 * 60) return new Date(text)
  errors.send_at = [`The send at field must be ${earliestMinutes} minutes to ${latestDays} days from now.`]
  return undefined
}

/** Counts the window from the event, and from now if the clock of orders is ahead; undefined once it is over. */
const findWindowEnd = ({ window }: MessageRequest, now: Date): Date | undefined => {
  if (!window) return undefined
  const end = Math.min(window.from.getTime(), now.getTime()) + window.minutes * 60_000
  return end > now.getTime() ? new Date(end) : undefined
}

const describeClosed = (channel: ChannelRow | undefined, conversation: Conversation | undefined, isText: boolean) => {
  const end = expiresAt(conversation?.lastInboundAt ?? null)
  const ended = end ? ` The last one was open until ${end.toISOString()}.` : ''
  const otherwise = isText
    ? 'until then only templates can be sent.'
    : 'or set hold_until_open to send the message then.'
  return `No conversation with this number is open.${ended} It opens for 24 hours when the customer writes to ${channel?.name}; ${otherwise}`
}
