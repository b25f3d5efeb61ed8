import { messageTo, phoneNumberId } from '../../../services/notifier/test/fixture.ts'
import { countByStatus } from '../../courier.ts'
import { pick } from '../plan.ts'
import { type Act, type Client, createRequester, pickAnyone, pickLeaver } from './client.ts'

/** Builds a message that carries the name of its request and its index in the request. */
const buildMessage = (client: Client, name: string, part: string, waybill?: string): object => {
  const { template } = messageTo('')
  const values = [name, part, waybill ? '{{customer_name}}' : 'x']
  const body = { type: 'body' as const, parameters: values.map(text => ({ type: 'text' as const, text })) }
  const components = [template.components?.[0] as object, body]
  const sent = { to: `+${pickAnyone(client)}`, template: { ...template, components } }
  return waybill ? { ...sent, waybill_number: waybill } : sent
}

/**
 * Acts as staff of the notifier: sends, cancels and resends messages, resumes and registers the number, and records
 * opt-outs.
 */
export const agent = (client: Client): Act => {
  const { bed, crew, who, chance, known } = client
  const { call, insist } = createRequester(client, 'notifierStaff', '/api')
  const channel = `/channels/${phoneNumberId}`
  const ids: string[] = []
  const send = async (name: string, count: number, key?: string) => {
    const parts = Array.from({ length: count }, (_, part) => String(part))
    const about = chance() < 0.5 ? pick(known, chance)?.waybill : undefined
    const messages = parts.map(part => buildMessage(client, name, part, count > 3 ? undefined : about))
    const body = count === 1 ? (messages[0] as object) : { messages }
    const { ending, data } = await insist('send', name, count === 1 ? '/messages' : '/messages/bulk', {
      parts,
      body,
      key,
    })
    // A check detects a 202 without ids.
    if (ending === 'done') ids.push(...[data as { id: string } | null].flat().flatMap(sent => sent?.id ?? []))
  }
  const sendSome = async (n: number) => {
    const name = `${who}-send-${n}`
    await send(name, chance() < 0.3 ? 3 : 1, chance() < 0.7 ? name : undefined)
    const id = chance() < 0.15 && ids.pop()
    if (id) await call('cancel a message', `drop-${id}`, `/messages/${id}/cancel`, { parts: [id], method: 'POST' })
  }
  const fill = async (backlog: number, n: number) => {
    const { queued = 0 } = await countByStatus(bed.courier)
    const name = `${who}-fill-${n}`
    if (queued < backlog / 2) await send(name, Math.min(1_000, backlog / 2), name)
  }
  const resend = async (n: number) => {
    const failed = await call('read', `${who}-read-${n}`, '/messages?status=failed&limit=5')
    const found = Array.isArray(failed.data) ? (failed.data as { id: string }[]) : []
    const id = failed.ending === 'done' && pick(found, chance)?.id
    if (id) await call('resend', `resend-${id}-${n}`, `/messages/${id}/resend`, { asked: id, method: 'POST' })
  }
  const resume = (n: number) => call('resume', `${who}-resume-${n}`, `${channel}/resume`, { method: 'POST' })
  const register = (n: number) => {
    const body = { pin: '123456', certificate: 'demo-certificate' }
    return n < 3 ? call('register', `${who}-register-${n}`, `${channel}/register`, { body }) : resume(n)
  }
  const optOut = (n: number) => {
    const [person, reason] = [pickLeaver(0, chance), `${who}-opt-out-${n}`]
    return call('opt out', reason, `/conversations/${person}/opt-out`, { parts: [person], body: { reason } })
  }
  return n => {
    if (crew.backlog) return fill(crew.backlog, n)
    const luck = chance()
    if (luck < 0.75) return sendSome(n)
    if (luck < 0.85) return resume(n)
    if (luck < 0.9) return resend(n)
    return luck < 0.97 ? optOut(n) : register(n)
  }
}
