import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { errorResponses, httpError } from '@courier/shared/errors/errors.ts'
import { wholeNumber } from '@courier/shared/lists/cursor.ts'
import { component } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type pg from 'pg'
import type { Merchant } from '../../core/access/merchant.ts'
import { keptDays } from '../../core/log/retention.ts'
import { ChangeItem, cursorPattern, type FeedPage, readFeed, toChangeItem, writeId } from './feed-page.ts'
import type { ChangeWatch } from './watch.ts'

const maxLimit = 500
const defaultLimit = 100
const maxWaitSeconds = 20
/** Limits the waiting requests of one merchant in one process. */
const maxWaiting = 20

const Query = Type.Object({
  cursor: Type.Optional(
    Type.String({
      maxLength: 60,
      pattern: cursorPattern,
      must: 'be the next_cursor of an earlier response, or now',
      description: `The next_cursor of the previous response, or the id of a change. Without it: the oldest of the last ${keptDays} days. \`now\`: only changes from now on.`,
    }),
  ),
  limit: wholeNumber(1, maxLimit, `Maximum number of changes. Default: ${defaultLimit}.`),
  wait: wholeNumber(0, maxWaitSeconds, 'Seconds to wait if there are no changes yet. Default: 0.'),
})

const Changes = component('Changes', {
  data: Type.Array(ChangeItem, { description: 'Oldest first.' }),
  next_cursor: Type.String({
    description: 'Store it with your results and send it with the next request.',
    examples: ['2f1c9a52-8a4c-4c1e-9a6d-5b0d8f3f7c11.41'],
  }),
  has_more: Type.Boolean(),
})

type ChangesOptions = { readonly pool: pg.Pool; readonly watch: ChangeWatch }

/** Serves the feed: the changes of the merchant's orders and invoices, none skipped (docs/merchants/changes.md). */
export const changeRoutes: FastifyPluginAsyncTypebox<ChangesOptions> = async (app, { pool, watch }) => {
  refuseUnknownFields(app)
  app.addHook('preClose', () => watch.close())
  const schema = {
    operationId: 'listChanges',
    summary: 'List what happened to your orders since the last request',
    description: `Lists each creation, status change, edit, instruction and payment of ${keptDays} days once, oldest first.`,
    querystring: Query,
    response: { 200: Changes, ...errorResponses(410) },
  }
  app.get('/order/changes', { serializerCompiler: () => JSON.stringify, schema }, async (request, reply) => {
    const { cursor, limit = defaultLimit, wait = 0 } = request.query
    const page = await readFeed(pool, request.merchant, cursor, Number(limit))
    if (page.changes.length > 0 || page.hasMore || Number(wait) === 0) return toResponse(page)
    await waitFor(watch, request.merchant, page, Number(wait), reply)
    return toResponse(await readFeed(pool, request.merchant, writeId(page.epoch, page.position), Number(limit)))
  })
}

const toResponse = ({ changes, epoch, position, hasMore }: FeedPage): Static<typeof Changes> => ({
  data: changes.map(change => toChangeItem(epoch, change)),
  next_cursor: writeId(epoch, position),
  has_more: hasMore,
})

/** Waits until the merchant has changes, the time is over, the client has gone, or the service stops. */
const waitFor = async (
  watch: ChangeWatch,
  { tenant, merchantId }: Merchant,
  { position }: FeedPage,
  seconds: number,
  reply: FastifyReply,
): Promise<void> => {
  if (watch.countWaiting(tenant, merchantId) >= maxWaiting)
    throw httpError('rate_limited', `At most ${maxWaiting} requests per merchant may wait at once: use fewer.`, {
      retryAfterSeconds: 1,
    })
  const gone = new AbortController()
  if (reply.raw.closed) return
  reply.raw.once('close', () => gone.abort())
  await watch.wait({ tenant, merchantId, after: position }, seconds * 1_000, gone.signal)
}
