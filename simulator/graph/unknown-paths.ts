import type { FastifyPluginAsync } from 'fastify'
import { GraphError } from './errors.ts'

/** Whatever else is asked below a version. */
export const unknownPaths: FastifyPluginAsync = async app => {
  app.all('/*', { schema: { hide: true } }, async request => {
    const path = (request.params as { '*': string })['*']
    throw new GraphError(2500, {
      message: `Unknown path components: /${path.split('/').slice(1).join('/').slice(0, 200)}`,
      status: 400,
    })
  })
}
