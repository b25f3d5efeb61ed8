// npm run demo, while `npm start` or docker compose runs: logs in, posts a batch, prints the waybills and follows the
// message to the first customer until it is delivered.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findContainer, runInContainer } from './compose.ts'
import { readTokens, request } from './demo-data.ts'
import { readDemoMerchant } from './demo-tenant.ts'
import { toAddress } from './ports.ts'
import { findRunning } from './running-stack.ts'
import { readDevSettings, root } from './settings.ts'

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const container = findContainer('simulator')
if (container !== undefined) process.exit(runInContainer(container, ['dev/demo.ts']))
const settings = readDevSettings()
const running = findRunning()
const orders = `${settings.ORDERS_URL ?? running.orders ?? toAddress(settings.HOST, settings.ORDERS_PORT)}/api/public/merchant`
const notifier = settings.NOTIFIER_URL ?? running.notifier ?? toAddress(settings.HOST, settings.NOTIFIER_PORT)

const postBatch = async (): Promise<string> => {
  const { email, password } = await readDemoMerchant()
  const { token } = await request<{ token: string }>(`${orders}/login`, undefined, { email, password })
  print(`Logged in as ${email}`)
  const batch = JSON.parse(await readFile(join(root, 'examples/batch.json'), 'utf8'))
  const names = batch.order_data as { order_no: string; customer_name: string }[]
  print(`Posting ${names.length} orders ...`)
  const { message, data } = await request<{ message: string; data: string[] }>(`${orders}/order/bulk`, token, batch)
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

/** Follows the message that a rule of examples/demo-notifier.json creates for the new order. */
const followMessage = async (waybill: string): Promise<void> => {
  const { portal } =
    (await readTokens(settings.dataFolder)) ??
    fail('There is no staff token: run npm start or docker compose up first.')
  const { token } = portal
  let printed = 0
  for (let tries = 0; tries < 600; tries++) {
    const { data } = await request<{ data: Message[] }>(`${notifier}/api/messages?waybill_number=${waybill}`, token)
    const first = data.at(-1)
    const found = first && (await request<{ data: Message }>(`${notifier}/api/messages/${first.id}`, token)).data
    if (found && printed === 0) print(`\nMessage ${found.id} about ${waybill}, ${found.template.name}:`)
    for (const { at, status } of found?.timeline.slice(printed) ?? []) print(`${at}  ${status}`)
    printed = found?.timeline.length ?? 0
    if (found?.error) fail(`The message failed: ${found.error.meaning}`)
    if (found?.status === 'delivered' || found?.status === 'read') return
    await delay(100)
  }
  fail('No message was delivered within a minute.')
}

await postBatch()
  .then(followMessage)
  .catch((error: Error) => fail(error.message))
