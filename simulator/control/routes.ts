import { validator } from '@courier/shared/edge/validator.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import { NumberChange, TokenChange } from '../accounts/account.ts'
import { Behaviour } from '../basics/behaviour.ts'
import { Script } from '../trouble/trouble.ts'
import {
  FieldChange,
  Inbound,
  ListQuery,
  MessageQuery,
  OutageMode,
  PersonEvent,
  Press,
  StatusReport,
} from './bodies.ts'
import type { Control } from './control.ts'

const tags = ['control']
const readLimit = ({ limit }: { limit?: string }) => (limit === undefined ? {} : { limit: Number(limit) })

/** Adds the routes that inspect and steer the simulator. They have no authentication, so they suit only loopback. */
export const controlRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.setValidatorCompiler(validator)

  app.get('', { schema: { tags, summary: 'Report what happened and what is set' } }, async () => control.summary())
  const messages = { tags, summary: 'List accepted messages, newest first', querystring: MessageQuery }
  app.get('/messages', { schema: messages }, async ({ query }) => ({
    data: control.messages({ ...query, ...readLimit(query) } as Parameters<Control['messages']>[0]),
  }))
  const show = (path: string, summary: string, list: (limit?: number) => object[]) =>
    app.get(path, { schema: { tags, summary, querystring: ListQuery } }, async ({ query }) => ({
      data: list(readLimit(query).limit),
    }))
  show('/calls', 'List requests and their responses, newest first', control.calls)
  show('/inbound', 'List inbound messages, newest first', control.inbox)
  show('/given-up', 'List updates whose webhook was given up, newest first', control.givenUp)

  const change = <Body extends TSchema>(
    method: 'PUT' | 'POST' | 'DELETE',
    url: string,
    summary: string,
    body: Body | undefined,
    // biome-ignore lint/suspicious/noExplicitAny: each action names the type of its body, which the schema has checked
    act: (body: any, id: string) => unknown,
  ) =>
    app.route<{ Params: { id: string } }>({
      method,
      url,
      schema: { tags, summary, ...(body && { body }) },
      handler: async ({ body, params }) => act(body, params.id) ?? { done: true },
    })
  change('PUT', '/numbers/:id', 'Add or change a number', NumberChange, (body, id) => control.putNumber(id, body))
  change('PUT', '/tokens', 'Add, change, expire or revoke a token', TokenChange, control.putToken)
  change('PUT', '/behaviour', 'Change rates, delays and the callback', Type.Partial(Behaviour), control.behave)
  change('POST', '/scripts', 'Let the next requests meet this trouble', Script, control.script)
  change('DELETE', '/scripts', 'Forget the scripts', undefined, control.clearScripts)
  change('PUT', '/outage', 'Start or end an outage', OutageMode, ({ mode }) => control.outage(mode))
  change('POST', '/inbound', 'Let a person write, share a location or tap a quick reply', Inbound, control.inbound)
  change('POST', '/presses', 'Let a person press a button of a message', Press, control.press)
  change(
    'POST',
    '/events',
    'Let a person call, change number or preferences, or the app or another responder write',
    PersonEvent,
    control.event,
  )
  change('POST', '/changes', 'Send news of the account', FieldChange, control.change)
  change('POST', '/statuses', 'Send a status of a message now', StatusReport, control.status)
}
