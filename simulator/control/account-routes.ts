import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { TemplateEvent } from '../templates/events.ts'
import { Template } from '../templates/template.ts'
import type { Control } from './control.ts'
import { Done, describe, done } from './describe.ts'
import { NumberChange, TemplateChange, TokenChange } from './schema.ts'

/** Numbers, tokens and templates. */
export const accountRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.put(
    '/numbers/:id',
    {
      schema: {
        ...describe('Add or change a number; its registration limits start anew', Done),
        params: Type.Object({ id: Type.String({ pattern: '^[0-9]{1,20}$', must: 'be 1 to 20 digits' }) }),
        body: NumberChange,
      },
    },
    async ({ params, body }) => {
      control.putNumber(params.id, body)
      return done
    },
  )
  app.put(
    '/tokens',
    { schema: { ...describe('Add, change, expire or revoke a token', Done), body: TokenChange } },
    async ({ body }) => {
      control.putToken(body)
      return done
    },
  )
  app.put(
    '/templates',
    { schema: { ...describe('Add or change a template', Template), body: TemplateChange } },
    async ({ body }) => control.putTemplate(body),
  )
  app.post(
    '/template-events',
    { schema: { ...describe('Change the status of a template and tell it by webhook', Done), body: TemplateEvent } },
    async ({ body }) => {
      control.templateEvent(body)
      return done
    },
  )
}
