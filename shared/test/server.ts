import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Teardown } from '../../dev/test-database.ts'
import { createServer } from '../edge/server.ts'

/** Creates a server without a service, which logs nothing unless `options` say so. The end of the test closes it. */
export const buildServer = async (t: Teardown, options: Partial<Parameters<typeof createServer>[0]> = {}) => {
  const app = await createServer({
    api: { title: 'Test', description: 'Test', tags: [] },
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    isReady: async () => {},
    ...options,
  })
  t.teardown(() => app.close())
  return app
}
