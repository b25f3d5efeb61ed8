import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { failedAttemptKeys } from '../../core/statuses/statuses.ts'
import { addToOne } from '../../core/tracking/facets.ts'
import type { TrackedOrder } from '../../core/tracking/order-rows.ts'
import { isSigned } from '../../core/tracking/order-view.ts'
import type { FacetStore, FindOrder } from '../../core/tracking/read-orders.ts'
import { chooseLanguage, isLanguage } from './languages/choose.ts'
import { renderPage } from './page.ts'

type Named = { tenant: string; waybill: string; code?: string; '*'?: string }
type TrackingPageOptions = FacetStore & { readonly findOrder: FindOrder }

/**
 * Serves the tracking page, which the label opens by a signed link: without its code the page shows neither amount nor
 * city. An unknown tenant and an unknown waybill get the same page.
 */
export const trackingPageRoutes: FastifyPluginAsyncTypebox<TrackingPageOptions> = async (app, options) => {
  for (const path of ['/t/:tenant/:waybill', '/t/:tenant/:waybill/:code', '/t/:tenant/:waybill/:code/*'])
    app.get<{ Params: Named; Querystring: { lang?: unknown } }>(
      path,
      { schema: { hide: true } },
      async (request, reply) => {
        const {
          params,
          query: { lang },
          headers,
        } = request
        const { tenant, waybill, code: given, '*': rest } = params
        const language = isLanguage(lang) ? lang : chooseLanguage(headers['accept-language'])
        const find = (number: string) => options.findOrder(tenant, number)
        const order = isTenantId.test(tenant) ? ((await find(waybill)) ?? (await find(trim(waybill)))) : undefined
        const code = given && trimCode(rest ? `${given}/${rest}` : given)
        const parcel = order && {
          ...order,
          nextOn: await findNextDay(options, order),
          pictures: await findPictures(options, order, code, request.publicUrl),
        }
        const { html, policy } = renderPage(language, parcel, code)
        return reply
          .code(parcel ? 200 : 404)
          .headers({ 'content-security-policy': policy, 'content-language': language, vary: 'accept-language' })
          .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' })
          .type('text/html; charset=utf-8')
          .send(html)
      },
    )
}

/** Removes the signs that a chat took into the link, or that a sentence ends with. */
const trim = (waybill: string): string => waybill.slice(0, 100).replace(/(?<=[\p{L}\p{N}])[^\p{L}\p{N}]+$/u, '')

const trimCode = (code: string): string => /^[\w-]{11}(?=[^\p{L}\p{N}]+$)/u.exec(code)?.[0] ?? code

/** Finds the day of the next attempt that was chosen after the last failed delivery, unless it is past. */
const findNextDay = async ({ pool, facets }: FacetStore, order: TrackedOrder): Promise<string | undefined> => {
  const { row, catalogue } = order
  if (!failedAttemptKeys.includes(row.status_key)) return undefined
  const shown: { failed_attempts?: number; instructions?: { attempt: number; date: string | null }[] } = {}
  await addToOne(facets, query => readInTenant(pool, catalogue.tenant, query), order, 'merchant', shown)
  const [newest] = shown.instructions ?? []
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: catalogue.timeZone }).format(new Date())
  return newest?.date && newest.attempt === shown.failed_attempts && newest.date >= today ? newest.date : undefined
}

/** Finds the addresses of the pictures that the signed link shows, as public tracking does. */
const findPictures = async (
  { pool, facets }: FacetStore,
  order: TrackedOrder,
  code: string | undefined,
  publicUrl: string,
): Promise<string[]> => {
  const { row, catalogue } = order
  if (!isSigned(catalogue, row.waybill_number, code)) return []
  const shown: { proofs?: { url: string }[] } = {}
  await addToOne(facets, query => readInTenant(pool, catalogue.tenant, query), order, 'public', shown, publicUrl)
  return (shown.proofs ?? []).map(({ url }) => url)
}
