import { type Static, Type } from '@sinclair/typebox'
import { oneOf } from '../one-of.ts'
import type { World } from '../world.ts'
import { keyOf, type Template, type TemplateStatus, templateStatuses } from './template.ts'

/** messaging-api 4.6. */
export const templateEvents = [...templateStatuses, 'FLAGGED', 'REINSTATED', 'LOCKED', 'UNARCHIVED'] as const

export const TemplateEvent = Type.Object(
  {
    waba_id: Type.Optional(Type.String({ description: 'Default the account of the first number.' })),
    name: Type.String(),
    language: Type.Optional(Type.String({ description: 'As in sends; default en_US.' })),
    event: oneOf(templateEvents),
    reason: Type.Optional(Type.String({ description: 'Default NONE.' })),
    title: Type.Optional(Type.String({ description: 'Of other_info, such as FIRST_PAUSE.' })),
  },
  { title: 'TemplateEvent' },
)
export type TemplateEvent = Static<typeof TemplateEvent>

/** Gives the template the status that the event means, and tells each callback of its account once. */
export const applyEvent = (world: World, wabaId: string, template: Template, told: TemplateEvent): void => {
  const status = statusAfter(told.event)
  if (status) template.status = status
  if (status === 'DELETED') world.accounts.templates.get(wabaId)?.delete(keyOf(template))
  const value = {
    event: told.event,
    message_template_id: rawNumber(template.id),
    message_template_name: template.name,
    message_template_language: template.language.replace('_', '-'),
    reason: told.reason ?? 'NONE',
    message_template_category: template.category,
    ...(told.title !== undefined && { other_info: { title: told.title, description: told.title } }),
  }
  const ofAccount = [...world.accounts.numbers.values()].filter(number => number.waba_id === wabaId)
  const byAddress = new Map(ofAccount.map(number => [world.callback.addressOf(number), number.phone_number_id]))
  for (const id of byAddress.values()) world.callback.tell(id, { field: 'message_template_status_update', value })
}

const statusAfter = (event: TemplateEvent['event']): TemplateStatus | undefined => {
  if (event === 'REINSTATED' || event === 'UNARCHIVED') return 'APPROVED'
  return templateStatuses.find(status => status === event)
}

/** The id is a number in the webhook, and may be longer than a JSON number holds exactly: its digits go as they are. */
const rawNumber = (digits: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(digits)
