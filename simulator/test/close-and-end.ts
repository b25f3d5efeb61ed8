// Closes a busy simulator; the process must then exit on its own.
import { createSimulator } from '../app.ts'
import { message, numberId } from './build.ts'

const { app, control } = await createSimulator({
  // Nothing listens at this address, so webhooks are retried.
  behaviour: { webhook_url: 'http://127.0.0.1:9/', delay_factor: 0.01 },
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const send = (body: unknown) =>
  fetch(`${url}/v17.0/${numberId}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo-access-token', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
await (await send(message())).text()
await new Promise(resolve => setTimeout(resolve, 200))
control.behave({ delay_factor: 100 })
await (await send(message())).text()
control.outage('hang')
send(message()).catch(() => {})
await new Promise(resolve => setTimeout(resolve, 100))
await app.close()
