import { goodText } from '@courier/shared/errors/field-errors.ts'
import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { dateOrTime, listQuery, matching, oneOf, text, type Wanted } from '@courier/shared/lists/filters.ts'
import { messageStatuses } from '../database/tables.ts'
import { messageIdPattern } from './insert.ts'

export const messageId = { maxLength: 29, pattern: messageIdPattern }

const filters = {
  id: matching({ maxLength: 29, pattern: `^$|${messageIdPattern}`, must: 'be the id of a message' }),
  status: oneOf(messageStatuses, 'The status.'),
  to: matching({
    maxLength: 40,
    pattern: goodText,
    must: 'be a phone number',
    description: 'Phone number, in any usual spelling.',
  }),
  waybill_number: matching({ maxLength: 50, pattern: goodText, must: 'be a waybill number' }),
  channel: text('Phone number id.'),
  template: text('The name of a template.'),
  created_from: dateOrTime('A date, in UTC, or a time such as 2026-02-19T08:00:00Z; it is included.'),
  created_to: dateOrTime('The same.'),
}

export type MessageFilter = Wanted<typeof filters>

export const MessagesQuery = listQuery(cursorFields, filters)
export const messageCursor = listCursor(new RegExp(messageIdPattern))
