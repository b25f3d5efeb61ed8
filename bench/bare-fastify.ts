// Starts a bare Fastify as a baseline: it returns the bytes that it was given, or checks the signature of a webhook.
// Run as a program, this file is that Fastify.
import { createHmac, timingSafeEqual } from 'node:crypto'
import Fastify from 'fastify'
import { appSecret } from './notifier-messages.ts'
import { startService } from './service.ts'

export const startBareFastify = async (cleanUps: AsyncDisposableStack): Promise<string> =>
  (await startService({ file: 'bench/bare-fastify.ts', portSetting: 'BARE_PORT', environment: {} }, cleanUps)).url

/** Sets the body of the response that the bare Fastify sends from now on. */
export const setResponse = async (url: string, body: string): Promise<void> => {
  const { ok, status } = await fetch(`${url}/response`, { method: 'PUT', body })
  if (!ok) throw new Error(`the bare Fastify responded with ${status}`)
}

const serve = async (): Promise<void> => {
  const app = Fastify({ bodyLimit: 10_000_000 })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))

  let response: Buffer = Buffer.alloc(0)

  app.put<{ Body: Buffer }>('/response', async request => {
    response = request.body
  })

  app.get('/health/ready', async () => ({}))

  app.get('/metrics', async () => {
    const { user, system } = process.cpuUsage()
    const cpuSeconds = (user + system) / 1_000_000
    return `process_cpu_seconds_total ${cpuSeconds}\nprocess_resident_memory_bytes ${process.memoryUsage.rss()}\n`
  })

  app.get('/*', (_request, reply) => reply.type('application/json; charset=utf-8').send(response))

  app.post<{ Body: Buffer }>('/webhooks/messaging', async (request, reply) => {
    const given = Buffer.from(String(request.headers['x-hub-signature-256']).slice('sha256='.length), 'hex')
    if (!timingSafeEqual(createHmac('sha256', appSecret).update(request.body).digest(), given))
      return reply.code(401).send()
    return {}
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit())
  await app.listen({ host: '127.0.0.1', port: Number(process.env.BARE_PORT) })
}

if (import.meta.main) await serve()
