// Receives the webhooks of Courier and verifies their signatures: SECRET=whsec_… node webhook-receiver.ts
// In a project of your own: npm install standardwebhooks
import { createServer, type IncomingMessage } from 'node:http'
import { Webhook } from 'standardwebhooks'

interface Event {
  type: string
  data: { waybill_number?: string; status?: { key: string; name: string } }
}

const webhook = new Webhook(process.env.SECRET ?? '')
/** Stands in for a table with a unique key, which a real program writes in the transaction that handles the event. */
const seen = new Set<string>()

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const receive = async (request: IncomingMessage): Promise<number> => {
  const body = await read(request)
  const headers = request.headers as Record<string, string>
  let event: Event
  try {
    // Verifies the raw bytes: parsed and serialized again, they may no longer match the signature.
    event = webhook.verify(body, headers) as Event
  } catch {
    return 401
  }
  const id = headers['webhook-id'] ?? ''
  if (!seen.has(id)) console.log(event.type, event.data.waybill_number ?? '', event.data.status?.key ?? '')
  seen.add(id)
  return 204
}

createServer((request, response) => {
  receive(request).then(
    status => response.writeHead(status).end(),
    () => response.writeHead(500).end(),
  )
}).listen(Number(process.env.PORT ?? 4000), '127.0.0.1')
