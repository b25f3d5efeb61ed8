import { randomInt } from 'node:crypto'
import { invalid } from '@courier/shared/http/errors.ts'
import { selectedInvalid } from '@courier/shared/http/faults.ts'
import type { PhoneNumber } from '../accounts/account.ts'
import type { Outcome } from '../webhooks/post.ts'
import { serialize } from '../webhooks/signature.ts'
import { tellStatus } from '../webhooks/statuses.ts'
import type { World } from '../world.ts'
import { pickNumber } from './accounts.ts'
import type { Answered, RawWebhook, StatusOrder, Verification } from './schema.ts'

/** Tells a status of a message now, whatever was told of it before. */
export const orderStatus = (world: World, { message_id, status, code, copies }: StatusOrder): void => {
  const message = world.messages.find(message_id)
  if (!message) throw invalid({ message_id: [selectedInvalid('message_id')] })
  tellStatus(world, message, { status, ...(code !== undefined && { code }) }, world.clock.now(), copies)
}

/** Posts any body to the callback of a number. */
export const postRaw = async (world: World, { phone_number_id, body, signature }: RawWebhook): Promise<Answered> => {
  const number = pickNumber(world, phone_number_id)
  requireAddress(world, number)
  const bytes = typeof body === 'string' ? Buffer.from(body) : serialize(body ?? null)
  return shown(await world.callback.post(number, bytes, signature))
}

/** Does what the platform does when a callback is entered (messaging-api 4.1): asks it for a challenge back. */
export const verify = async (world: World, verifyToken: string, phoneNumberId?: string): Promise<Verification> => {
  const address = requireAddress(world, pickNumber(world, phoneNumberId))
  const challenge = String(randomInt(1_000_000_000, 2_000_000_000))
  const query = { 'hub.mode': 'subscribe', 'hub.challenge': challenge, 'hub.verify_token': verifyToken }
  const answered = shown(await world.callback.ask(`${address}?${new URLSearchParams(query)}`))
  return { ...answered, verified: answered.status === 200 && answered.body === challenge }
}

const requireAddress = (world: World, number: PhoneNumber): string => {
  const address = world.callback.addressOf(number)
  if (address === undefined) throw invalid({ webhook_url: ['This number has no webhook address.'] })
  return address
}

const shown = (outcome: Outcome): Answered =>
  outcome.status === null ? { status: null, body: outcome.error } : outcome
