// npm run demo, while `npm start` runs: posts a real batch, prints the waybills, and follows a message until it is read.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readStaffToken } from './demo-staff.ts'
import { readToken } from './demo-tenant.ts'
import { addressOf } from './ports.ts'
import { readDevSettings, root } from './settings.ts'

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

const settings = readDevSettings()
const orders = addressOf(settings.HOST, settings.ORDERS_PORT)
const kept = (await readToken(settings.dataFolder)) ?? fail(`${settings.dataFolder} has no token: run npm start first.`)

const body = await readFile(join(root, 'examples/batch.json'))
const batch = JSON.parse(body.toString()) as { order_data: { order_no: string; customer_name: string }[] }
process.stdout.write(`Posting ${batch.order_data.length} orders to ${orders} ...\n`)
const answer = await fetch(`${orders}/api/public/merchant/order/bulk`, {
  method: 'POST',
  headers: { authorization: `Bearer ${kept.token}`, 'x-tenant': 'demo', 'content-type': 'application/json' },
  body,
}).catch(() => fail(`Nothing answers at ${orders}: run npm start in another terminal first.`))
const { message, data, errors } = (await answer.json()) as { message: string; data?: string[]; errors?: object }
if (!data) fail(`${answer.status} ${message} ${errors ? JSON.stringify(errors, null, 2) : ''}`)
for (const [index, waybill] of (data ?? []).entries()) {
  const order = batch.order_data[index]
  process.stdout.write(`${waybill}  ${order?.order_no}  ${order?.customer_name}\n`)
}
process.stdout.write(`${message}\n`)

const notifier = addressOf(settings.HOST, settings.NOTIFIER_PORT)
const staff = (await readStaffToken(settings.dataFolder)) ?? fail('There is no staff token: run npm start first.')
const headers = { authorization: `Bearer ${staff.token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
const [waybill = ''] = data ?? []
const text = (...texts: string[]) => texts.map(text => ({ type: 'text', text }))
const queued = await fetch(`${notifier}/api/messages`, {
  method: 'POST',
  headers,
  body: JSON.stringify({
    to: '0770000101',
    waybill_number: waybill,
    template: {
      name: 'order_created',
      language: { code: 'en_US' },
      components: [
        { type: 'header', parameters: text(waybill) },
        { type: 'body', parameters: text('Nimali', 'Lanka Shoes', '4500') },
      ],
    },
  }),
})
const accepted = (await queued.json()) as { message: string; data?: { id: string }; errors?: object }
if (!accepted.data) fail(`${queued.status} ${accepted.message} ${JSON.stringify(accepted.errors ?? {}, null, 2)}`)
process.stdout.write(`\nMessage ${accepted.data?.id} about ${waybill}:\n`)

interface Moment {
  status: string
  at: string
}
let told = 0
for (let tries = 0; tries < 300; tries++) {
  const answer = await fetch(`${notifier}/api/messages/${accepted.data?.id}`, { headers })
  const { data: message } = (await answer.json()) as { data: { status: string; timeline: Moment[] } }
  for (const { status, at } of message.timeline.slice(told)) process.stdout.write(`${at}  ${status}\n`)
  told = message.timeline.length
  if (message.status === 'read') process.exit(0)
  if (message.status === 'failed') fail('The message failed.')
  await new Promise(resolve => setTimeout(resolve, 100))
}
fail('The message was not read within 30 seconds.')
