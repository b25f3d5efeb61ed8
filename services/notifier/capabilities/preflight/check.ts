import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { expiresAt, isOpen } from '../../core/conversations/conversation.ts'
import { findPhoneCountry } from '../../core/conversations/phone-number.ts'
import { chooseChannel } from '../../core/conversations/queries.ts'
import type { ChannelRow } from '../../core/database/tables.ts'
import { type CheckedMessage, exempts, readCategory, type SendingContext } from '../../core/messages/check.ts'
import { deferUntil, waitsFor } from '../../core/messages/hours.ts'
import { firstStatus } from '../../core/messages/insert.ts'
import type { MessageBody, MessageRequest } from '../../core/messages/schema.ts'
import { isPlain } from '../../core/messaging-api/message-template.ts'
import { findBlockReason } from '../../core/sending/pre-send-check.ts'
import type { CatalogueTemplate } from '../../core/templates/catalogue.ts'
import { render } from '../../core/templates/render.ts'
import { waitsForRoom } from '../account-limits/defer-for-room.ts'
import type { findLimits } from '../account-limits/portfolio.ts'
import { waitsForBudget } from '../costs/defer.ts'
import { findPrice, type TenantTariffs } from '../costs/price.ts'
import type { Preflight } from './view.ts'

interface Examined {
  readonly body: MessageBody
  /** Is the message filled in from its order; undefined means that its recipient is unknown. */
  readonly request: MessageRequest | undefined
  readonly checked: CheckedMessage | undefined
  readonly errors: FieldErrors
}

interface PreflightContext extends SendingContext {
  readonly tariffs: TenantTariffs
  /** Holds the limits of the tenant's numbers, by phone number id. */
  readonly limits: Awaited<ReturnType<typeof findLimits>>
}

/** Predicts the outcome of the message if it were sent now. */
export const runPreflight = (examined: Examined, context: PreflightContext): Preflight => {
  const { body, request, checked, errors } = examined
  const template = request && !isPlain(request.template) ? request.template : body.template
  const channel = chooseChannel(body.channel, context.channels)
  const recipient = request && context.readRecipient(request.to)
  const known = channel && context.catalogued(channel, template)
  const conversation = channel && recipient ? context.conversation(channel, recipient) : undefined
  const { lastInboundAt = null, optedOutAt = null, marketingOutAt = null } = conversation ?? {}
  const hours = checked?.hours ?? (body.respect_hours ? context.hours : undefined)
  const predicted = checked && channel ? predictLeaving(checked, channel, known, context) : stay(null, errors)
  const portfolio = channel && !isOpen(lastInboundAt, context.now) && context.limits.get(channel.phone_number_id)
  const limit = checked && portfolio && !portfolio.reached.has(checked.recipient) ? portfolio.limit : null
  const opensAt = limit?.opens_at ?? predicted.leaves_at
  const isLate = predicted.leaves_at && opensAt && opensAt > predicted.leaves_at
  const left = isLate ? { ...predicted, leaves_at: opensAt, waits_for: waitsForRoom } : predicted
  const at = left.leaves_at ?? context.now
  return {
    status: checked ? firstStatus(checked) : 'refused',
    to: recipient ?? null,
    channel: channel ? showChannel(channel) : null,
    text: known ? render(known, template) : null,
    window: { open: isOpen(lastInboundAt, context.now), until: expiresAt(lastInboundAt) },
    opt_out: {
      scope: optedOutAt ? 'all' : marketingOutAt ? 'marketing' : null,
      since: optedOutAt ?? marketingOutAt,
      exempt: exempts(context, readCategory(known), request ?? {}),
    },
    hours: hours ? { between: [...hours.between], time_zone: hours.timeZone } : null,
    ...left,
    limit,
    price: findPrice(context.tariffs, {
      category: findCategory(known, at),
      country: recipient && findPhoneCountry(recipient),
      at,
      // A message held for a conversation leaves only while one is open.
      isWindowOpen: isOpen(lastInboundAt, at) || (channel?.plan === 'free' && checked?.holdsUntilOpen === true),
    }),
  }
}

const showChannel = ({ phone_number_id, name, state, paused_reason }: ChannelRow) => {
  return { phone_number_id, name, state, paused_reason }
}

type Leaving = Pick<Preflight, 'waits_for' | 'errors'> & { readonly leaves_at: Date | null }

const stay = (waits_for: string | null, errors: FieldErrors = {}): Leaving => ({ leaves_at: null, waits_for, errors })

/** Predicts when the queue sends the message, ignoring its number's rate, or the reason why it does not. */
const predictLeaving = (
  message: CheckedMessage,
  channel: ChannelRow,
  known: CatalogueTemplate | undefined,
  { now, nextAllowed, conversation }: PreflightContext,
): Leaving => {
  const { hours, sendAt } = message
  const due = new Date(Math.max(...[now, sendAt, channel.not_before].map(Number)))
  const later = hours && deferUntil(due, hours, nextAllowed)
  const at = later ?? due
  const reason = findBlockReason(
    {
      ...message,
      plan: channel.plan,
      conversation: conversation(channel, message.recipient),
      isMarketing: findCategory(known, at) === 'MARKETING',
      isTemplateHeld: false,
      supersededBy: null,
    },
    at,
  )
  if (reason?.kind === 'failed' || reason?.kind === 'cancelled') return stay(null, { to: [reason.detail] })
  if (channel.state === 'paused') {
    const sentence = `The channel is paused: ${channel.paused_reason}`
    return stay(sentence, { channel: [sentence] })
  }
  if (reason) return stay(reason.detail ?? null)
  if (known?.budgetPausedAt && message.waybillNumber === null) return stay(waitsForBudget)
  const waits_for = message.waitsFor ?? (hours && later ? waitsFor(hours) : null)
  return { leaves_at: at, waits_for, errors: {} }
}

/** Returns the category of a delivery at that time. */
const findCategory = (template: CatalogueTemplate | undefined, at: Date): string | null | undefined =>
  template?.announcedCategory && template.announcedAt && template.announcedAt <= at
    ? template.announcedCategory
    : template?.category
