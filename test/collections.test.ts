// Runs the collections of examples/postman/ from top to bottom against a running stack, as Postman and Bruno do.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { applyDemo, startStack } from './stack.ts'

interface Item {
  name: string
  item?: Item[]
  event?: { script: { exec: string[] } }[]
  request: {
    method: string
    auth: { bearer?: { value: string }[] }
    header: { key: string; value: string; disabled?: boolean }[]
    url: {
      host: string[]
      path: string[]
      query: Item['request']['header']
      variable: { key: string; value: string }[]
    }
    body?: { raw: string }
  }
}

/** Lists requests that need more than the demo has: a customer's request or message, a message that waits or failed. */
const refused = [
  'Accept or decline what a customer asks for',
  'Cancel a message before it is sent',
  'Send a failed or unknown message again',
  'Mark messages of a conversation as read',
  'Send a text while the conversation is open',
  // No delivery has failed, and the company shows no history of recipients.
  'Say what happens after a failed delivery',
  'Count the parcels that a recipient took, and those that came back',
  // No cash is collected yet, and no invoice exists.
  'Read an invoice with its lines',
  'Approve a submitted invoice',
  'Dispute parcels of a submitted invoice',
  'Take the cash that a person collected',
  'Decide on a handover whose sums differ',
  'Book a deposit at the bank',
  'Read the statement of an account, by day',
  'Submit a draft to the merchant',
  'Reject a submitted invoice',
  'Cancel an unpaid invoice: its parcels are free for the next one',
  'Book that an approved invoice was paid',
  'Book that a merchant paid the charges it keeps apart',
  'Settle the dispute of parcels',
  'Take back the newest move of an order',
  'Confirm a changed bank account',
  'Book that a bank paid invoices',
]

const stack = await startStack(t, { orders: { STAFF_PASSWORD: 'courier-demo' } })
const { orders, notifier } = await applyDemo(stack)
const member = ['--tenant', 'demo', '--email', 'admin@courier.example', '--name', 'Dilani', '--role', 'admin']
await stack.admin('orders', 'staff', 'add', ...member)

for (const name of ['orders', 'notifier'])
  t.test(`the collection of ${name} runs from top to bottom`, async t => {
    const { item, variable } = JSON.parse(readFileSync(join(root, `examples/postman/${name}.json`), 'utf8'))
    const variables = new Map<string, unknown>(
      variable.map(({ key, value }: { key: string; value: string }) => [key, value]),
    )
    variables.set('orders', orders).set('notifier', notifier).set('$guid', 'first-run')
    // Placeholders of a template, such as {{customer_name}}, are not variables of the collection.
    const fill = (text: string): string =>
      text.replaceAll(/\{\{(\$?\w+)\}\}/g, (word, key) => String(variables.get(key) ?? word))
    const flatten = (items: Item[]): Item[] => items.flatMap(each => (each.item ? flatten(each.item) : [each]))
    for (const { name, request, event = [] } of flatten(item)) {
      const { host, path, query, variable } = request.url
      const values = new Map(variable.map(({ key, value }) => [`:${key}`, fill(value)]))
      const search = new URLSearchParams()
      for (const { key, value, disabled } of query) if (!disabled) search.set(key, fill(value))
      const url = `${fill(host.join(''))}/${path.map(part => values.get(part) ?? part).join('/')}?${search}`
      const headers = new Headers()
      for (const { key, value, disabled } of request.header) if (!disabled) headers.set(key, fill(value))
      const [token] = request.auth.bearer ?? []
      if (token) headers.set('authorization', `Bearer ${fill(token.value)}`)
      const response = await fetch(url, {
        method: request.method,
        headers,
        body: request.body ? fill(request.body.raw) : null,
      })
      const text = await response.text()
      const isRefused = refused.includes(name)
      t.ok(
        isRefused ? [200, 404, 409, 422].includes(response.status) : response.ok,
        `${name}: ${request.method} ${url} ${response.status} ${text.slice(0, 300)}`,
      )
      const pm = { response: { json: () => JSON.parse(text) }, collectionVariables: variables }
      for (const { script } of event) new Function('pm', script.exec.join('\n'))(pm)
    }
  })
