import { setTimeout as delay } from 'node:timers/promises'
import { messageTo } from '../services/notifier/test/stage.ts'
import type { Canaries } from './canary-set.ts'
import type { Stage } from './canary-stage.ts'

export type Headers = Record<string, string>

/** A control call of the simulator. */
export const control = async (simulatorUrl: string, method: string, path: string, body: object): Promise<void> => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${simulatorUrl}/control/${path}`, { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`the simulator refused ${path}: ${await answer.text()}`)
}

/** A message with canaries in it. */
export const message = ({ parameter, recipient }: Canaries, to = `0${recipient}`) => {
  const template = structuredClone(messageTo('').template)
  const [, body] = template.components
  if (body?.parameters[0]) body.parameters[0].text = parameter
  return { to, template }
}

/** Messages that are sent, refused, lost and wrong. */
export const sendMessages = async (
  stage: Stage,
  simulatorUrl: string,
  canaries: Canaries,
  headers: Headers,
): Promise<void> => {
  const send = (body: unknown, more: Headers = {}) => stage.call('POST', '/api/messages', { ...headers, ...more }, body)
  const troubles = [
    null,
    { kind: 'error', code: 131026, details: 'Message undeliverable' },
    { kind: 'lost' },
    { kind: 'half' },
    { kind: 'html' },
    { kind: 'empty' },
    { kind: 'refused' },
    { kind: 'error', code: 132000 },
  ]
  for (const [index, trouble] of troubles.entries()) {
    if (trouble) await control(simulatorUrl, 'POST', 'scripts', { call: 'messages', times: 1, trouble })
    // To two people in turn: each is written to once in a second.
    const { text } = await send(message(canaries, index % 2 ? `0${canaries.writer}` : undefined))
    await settle(stage, JSON.parse(text).data?.id)
  }
  // 132000 holds the template until it is found approved.
  await stage.call('POST', '/api/templates/sync', headers, {})
  await send(message(canaries, canaries.name))
  await send({
    ...message(canaries),
    channel: canaries.name,
    waybill_number: `${canaries.name}\0`,
    send_at: canaries.name,
  })
  await send({ ...message(canaries), template: { name: canaries.parameter, language: { code: canaries.parameter } } })
  await send(JSON.stringify(message(canaries)).replace(canaries.parameter, `${canaries.parameter}\\n`))
  await send(JSON.stringify(message(canaries)).slice(0, -5))
  await send(message(canaries), { authorization: `Bearer ${canaries.strangeToken}` })
  await stage.call('POST', '/api/messages/bulk', headers, {
    messages: [message(canaries), message(canaries, canaries.name)],
  })
  for (const path of ['messages?to=', 'messages?status=', 'messages/', 'conversations/', 'templates?cursor='])
    for (const canary of [canaries.name, `%2B94${canaries.recipient}`])
      await stage.call('GET', `/api/${path}${canary}`, headers)
}

/** Waits until the message was sent, or not. */
const settle = async ({ superuser }: Stage, id: string | undefined): Promise<void> => {
  for (let tries = 0; tries < 100; tries++) {
    const { rows } = await superuser.query(
      `select from messages where message_id = $1 and status in ('queued', 'sending') and attempts = 0`,
      [id],
    )
    if (rows.length === 0) return
    await delay(50)
  }
}
