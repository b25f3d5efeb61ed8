import { messageTo, phoneNumberId } from '../../../services/notifier/test/fixture.ts'
import { addressOf } from '../bed.ts'
import { type Act, anyone, type Client, leaver, pick } from './client.ts'

/** Staff of the notifier: sends, cancels, sends again, resumes and registers the number, and notes who opts out. */
export const agent = ({ bed, recorder, who, chance, known }: Client): Act => {
  const { call, insist } = recorder
  const url = `${addressOf(bed.links['clients-notifier'])}/api`
  const common = { who, headers: bed.courier.staff }
  const ids: string[] = []
  const send = async (n: number) => {
    const name = `${who}-send-${n}`
    const parts = Array.from({ length: chance() < 0.3 ? 3 : 1 }, (_, part) => String(part))
    const about = chance() < 0.5 ? pick(known, chance)?.waybill : undefined
    const messages = parts.map(part => {
      const { template } = messageTo('')
      const values = [name, part, about ? '{{customer_name}}' : 'x']
      const body = { type: 'body' as const, parameters: values.map(text => ({ type: 'text' as const, text })) }
      const components = [template.components?.[0] as object, body]
      const sent = { to: `+${anyone(chance)}`, template: { ...template, components } }
      return about ? { ...sent, waybill_number: about } : sent
    })
    const isOne = parts.length === 1
    const key = chance() < 0.7 ? name : undefined
    const path = isOne ? 'messages' : 'messages/bulk'
    const body = isOne ? (messages[0] as object) : { messages }
    const wanted = { ...common, what: 'send', name, parts, url: `${url}/${path}`, body, key }
    const { ending, data } = await insist(wanted)
    if (key && chance() < 0.2) await insist(wanted)
    // A 202 without ids is found by a check.
    if (ending === 'done') ids.push(...[data as { id: string } | null].flat().flatMap(sent => sent?.id ?? []))
    if (chance() < 0.15) await drop()
  }
  const drop = async () => {
    const id = ids.pop()
    if (id)
      await call({
        ...common,
        what: 'cancel a message',
        name: `drop-${id}`,
        parts: [id],
        url: `${url}/messages/${id}/cancel`,
        method: 'POST',
      })
  }
  const resend = async (n: number) => {
    const failed = await call({
      ...common,
      what: 'read',
      name: `${who}-read-${n}`,
      parts: [],
      url: `${url}/messages?status=failed&limit=5`,
    })
    const found = Array.isArray(failed.data) ? (failed.data as { id: string }[]) : []
    const id = failed.ending === 'done' && pick(found, chance)?.id
    if (id)
      await call({
        ...common,
        what: 'resend',
        name: `resend-${id}-${n}`,
        parts: [],
        asked: id,
        url: `${url}/messages/${id}/resend`,
        method: 'POST',
      })
  }
  const resume = (n: number) =>
    call({
      ...common,
      what: 'resume',
      name: `${who}-resume-${n}`,
      parts: [],
      url: `${url}/channels/${phoneNumberId}/resume`,
      method: 'POST',
    })
  const register = (n: number) => {
    const body = { pin: '123456', certificate: 'demo-certificate' }
    return n < 3
      ? call({
          ...common,
          what: 'register',
          name: `${who}-register-${n}`,
          parts: [],
          url: `${url}/channels/${phoneNumberId}/register`,
          body,
        })
      : resume(n)
  }
  const optOut = (n: number) => {
    const person = leaver(0, chance)
    const [name, body] = [`${who}-opt-out-${n}`, { reason: `${who}-opt-out-${n}` }]
    return call({
      ...common,
      what: 'opt out',
      name,
      parts: [person],
      url: `${url}/conversations/${person}/opt-out`,
      body,
    })
  }
  return n => {
    const luck = chance()
    if (luck < 0.75) return send(n)
    if (luck < 0.85) return resume(n)
    if (luck < 0.9) return resend(n)
    return luck < 0.97 ? optOut(n) : register(n)
  }
}
