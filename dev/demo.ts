// npm run demo, while `npm start` runs: logs in, posts a real batch, prints the waybills, and follows the message that
// the first customer gets until it is delivered.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readStaffToken } from './demo-staff.ts'
import { readDemoFile } from './demo-tenant.ts'
import { addressOf } from './ports.ts'
import { readDevSettings, root } from './settings.ts'

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const settings = readDevSettings()
const orders = `${addressOf(settings.HOST, settings.ORDERS_PORT)}/api/public/merchant`
const notifier = addressOf(settings.HOST, settings.NOTIFIER_PORT)

/** The body of a call of tenant demo; ends the demonstration with what is wrong when it is refused. */
const call = async <Body>(url: string, token?: string, body?: unknown): Promise<Body> => {
  const headers = {
    'x-tenant': 'demo',
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body ? { 'content-type': 'application/json' } : {}),
  }
  const given = body ? { method: 'POST', body: JSON.stringify(body) } : {}
  const answer = await fetch(url, { headers, ...given }).catch(() =>
    fail(`Nothing answers at ${url}: run npm start in another terminal first.`),
  )
  const text = await answer.text()
  if (!answer.ok) fail(`${url} answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}

const postBatch = async (): Promise<string> => {
  const { email, password } = (await readDemoFile()).merchants[0]
  const { token } = await call<{ token: string }>(`${orders}/login`, undefined, { email, password })
  print(`Logged in as ${email}`)
  const batch = JSON.parse(await readFile(join(root, 'examples/batch.json'), 'utf8'))
  const names = batch.order_data as { order_no: string; customer_name: string }[]
  print(`Posting ${names.length} orders ...`)
  const { message, data } = await call<{ message: string; data: string[] }>(`${orders}/order/bulk`, token, batch)
  for (const [index, waybill] of data.entries())
    print(`${waybill}  ${names[index]?.order_no}  ${names[index]?.customer_name}`)
  print(message)
  return data[0] ?? fail('There is no waybill to follow.')
}

interface Message {
  id: string
  template: { name: string }
  status: string
  error: { meaning: string } | null
  timeline: { status: string; at: string }[]
}

/** The message that a rule of examples/demo-notifier.json makes of the new order. */
const followMessage = async (waybill: string): Promise<void> => {
  const { token } = (await readStaffToken(settings.dataFolder)) ?? fail('There is no staff token: run npm start first.')
  let told = 0
  for (let tries = 0; tries < 600; tries++) {
    const { data } = await call<{ data: Message[] }>(`${notifier}/api/messages?waybill_number=${waybill}`, token)
    const first = data.at(-1)
    const found = first && (await call<{ data: Message }>(`${notifier}/api/messages/${first.id}`, token)).data
    if (found && told === 0) print(`\nMessage ${found.id} about ${waybill}, ${found.template.name}:`)
    for (const { at, status } of found?.timeline.slice(told) ?? []) print(`${at}  ${status}`)
    told = found?.timeline.length ?? 0
    if (found?.error) fail(`The message failed: ${found.error.meaning}`)
    if (found?.status === 'delivered' || found?.status === 'read') return
    await delay(100)
  }
  fail('No message was delivered within a minute.')
}

await followMessage(await postBatch())
