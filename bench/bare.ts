import { type Service, startService } from './service.ts'

export const startBareFastify = (cleanUps: AsyncDisposableStack): Promise<Service> =>
  startService(
    { name: 'the bare Fastify', file: 'bench/bare-fastify.ts', portSetting: 'BARE_PORT', environment: {} },
    cleanUps,
  )

/** What it answers from now on, or the secret that it knows. */
export const tellBareFastify = async (url: string, what: 'answer' | 'secret', text: string): Promise<void> => {
  const answer = await fetch(`${url}/control/${what}`, { method: 'PUT', body: text })
  if (!answer.ok) throw new Error(`the bare Fastify answered ${answer.status}`)
}
