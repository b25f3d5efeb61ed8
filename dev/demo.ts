// npm run demo, while `npm start` runs: posts a real batch and prints the waybills.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
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
