import { randomUUID } from 'node:crypto'
import { docs } from '@courier/shared/api-docs/docs.ts'
import { demonstration } from '@courier/shared/demonstration.ts'
import { handleErrors, malformedAddress, routerOptions, sendError } from '@courier/shared/edge/error-handler.ts'
import { healthRoutes } from '@courier/shared/edge/health.ts'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { type Logger, pino } from 'pino'
import type { DemoSecrets } from './accounts/accounts.ts'
import type { ChannelAccount } from './accounts/read-accounts.ts'
import { numberRoutes, tokenRoutes } from './api/numbers.ts'
import { respondAsGraph, unknownPathRoutes } from './api/respond.ts'
import { sendRoutes } from './api/send.ts'
import { subscriptionRoutes } from './api/subscriptions.ts'
import { templateRoutes } from './api/templates.ts'
import type { Behaviour } from './basics/behaviour.ts'
import { createControl } from './control/control.ts'
import { controlRoutes } from './control/routes.ts'
import { pageRoutes } from './page/routes.ts'
import { createWorld, forget } from './world/world.ts'

export interface SimulatorOptions extends Partial<DemoSecrets> {
  logger?: Logger
  behaviour?: Partial<Behaviour>
  /** Adds accounts to the demo's. */
  accounts?: readonly ChannelAccount[]
}

const api = {
  title: 'Messaging API simulator',
  description:
    'Stands in for the external messaging API in development and tests. The requests here steer it; the API itself is under /v17.0.',
  tags: [{ name: 'control', description: 'Inspect the simulator and steer it.' }],
}

/** Creates the HTTP application and the functions behind its control. */
export const createSimulator = async (options: SimulatorOptions = {}) => {
  const logger = (options.logger ?? pino({ level: 'silent' })) as FastifyBaseLogger
  const { accessToken = demonstration.accessToken, appSecret = demonstration.appSecret } = options
  const { behaviour = {}, accounts = [] } = options
  const world = createWorld({ secrets: { accessToken, appSecret }, accounts, behaviour, logger })
  const control = createControl(world)

  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    keepAliveTimeout: 5_000,
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply: FastifyReply) =>
      sendError(request as FastifyRequest, reply, malformedAddress()),
    routerOptions,
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  // Runs before the server waits for its responses to end: an outage would hold some back for minutes.
  app.addHook('preClose', async () => forget(world))
  // Runs again afterwards, for the actions that the last responses started.
  app.addHook('onClose', async () => forget(world))

  handleErrors(app)
  docs(app, api)
  await app.register(healthRoutes, { isReady: async () => {} })
  await app.register(pageRoutes)
  await app.register(controlRoutes, { prefix: '/control', control })
  await app.register(async graph => {
    respondAsGraph(graph, world)
    await graph.register(tokenRoutes, { world })
    await graph.register(
      async versioned => {
        await versioned.register(tokenRoutes, { world })
        await versioned.register(sendRoutes, { world })
        await versioned.register(templateRoutes, { world })
        await versioned.register(subscriptionRoutes, { world })
        await versioned.register(numberRoutes, { world })
        await versioned.register(unknownPathRoutes)
      },
      { prefix: '/:version(^v\\d+\\.\\d+$)' },
    )
  })
  return { app, control }
}
