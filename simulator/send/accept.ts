import type { PhoneNumber } from '../accounts/account.ts'
import type { Template } from '../templates/template.ts'
import type { Course } from '../trouble/trouble.ts'
import { followCourse } from '../webhooks/statuses.ts'
import type { World } from '../world.ts'
import type { Message } from './message.ts'
import { messageId } from './message-id.ts'
import type { MessageBody } from './schema.ts'

export interface Sendable {
  sender: PhoneNumber
  recipient: string
  template: Template
  body: MessageBody
}

/** Takes the message and sets its statuses going; the result is the success body of messaging-api 1.4. */
export const accept = (world: World, { sender, recipient, template, body }: Sendable, course?: Course) => {
  const message: Message = {
    id: messageId(recipient),
    phoneNumberId: sender.phone_number_id,
    to: recipient,
    template,
    components: body.template.components ?? [],
    callback: body.biz_opaque_callback_data,
    messageStatus: course?.message_status ?? 'accepted',
    acceptedAt: world.clock.now(),
    statuses: [],
  }
  world.messages.add(message)
  followCourse(world, message, course)
  return {
    messaging_product: 'whatsapp',
    contacts: [{ input: body.to, wa_id: recipient }],
    messages: [{ id: message.id, message_status: message.messageStatus }],
  }
}
