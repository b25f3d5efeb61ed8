import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Behaviour } from '../behaviour.ts'
import { Outage } from '../trouble/outage.ts'
import { Script } from '../trouble/scripts.ts'
import type { Control } from './control.ts'
import { Done, describe, done } from './describe.ts'
import { BehaviourChange } from './schema.ts'

/** Behaviour, scripts, outages, time, and the way back. */
export const troubleRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.put(
    '/behaviour',
    {
      schema: {
        ...describe('Change rates, delays, the callback, the served version', Behaviour),
        body: BehaviourChange,
      },
    },
    async ({ body }) => control.behave(body),
  )
  app.post(
    '/scripts',
    { schema: { ...describe('The next calls meet this trouble', Done), body: Script } },
    async ({ body }) => {
      control.script(body)
      return done
    },
  )
  app.delete('/scripts', { schema: describe('Forget the scripts', Done) }, async () => {
    control.clearScripts()
    return done
  })
  app.put(
    '/outage',
    { schema: { ...describe('Start or end an outage', Done), body: Type.Object({ mode: Outage }) } },
    async ({ body }) => {
      control.outage(body.mode)
      return done
    },
  )
  app.post(
    '/clock',
    {
      schema: {
        ...describe('Move the clock forward, to outlive a limit; what is planned keeps its delay', Done),
        body: Type.Object({ advance_seconds: Type.Number({ minimum: 0, maximum: 1e9 }) }),
      },
    },
    async ({ body }) => {
      control.advance(body.advance_seconds)
      return done
    },
  )
  app.post('/reset', { schema: describe('Everything is as it was at the start', Done) }, async () => {
    control.reset()
    return done
  })
}
