import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

export interface ApiDescription {
  title: string
  version: string
  description: string
  /** The groups of calls, in the order in which the page shows them. */
  tags: { name: string; description: string }[]
}

/** /openapi.json, made from the routes' schemas, and /docs, the same as a page where calls can be tried. */
export const docs = async (app: FastifyInstance, { tags, ...info }: ApiDescription): Promise<void> => {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info,
      tags: [...tags, { name: 'operations', description: 'Health and figures of the process.' }],
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer' },
          service: {
            type: 'http',
            scheme: 'bearer',
            description: 'SERVICE_TOKEN: what the services know each other by.',
          },
        },
      },
    },
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    // Where the service is reached over plain http, the page's own files are too.
    transformStaticCSP: csp => csp.replace('upgrade-insecure-requests;', ''),
    uiConfig: { persistAuthorization: true, tryItOutEnabled: true, defaultModelsExpandDepth: 0 },
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}
