import { isTenantId } from '@courier/shared/access/authenticate.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FindOrder } from '../../core/tracking/read-orders.ts'
import { chooseLanguage, isLanguage } from './languages/choose.ts'
import { renderPage } from './page.ts'

/**
 * Serves the tracking page, which the label opens by a signed link: without its code the page shows neither amount nor
 * city. An unknown tenant and an unknown waybill get the same page.
 */
export const trackingPageRoutes: FastifyPluginAsyncTypebox<{ findOrder: FindOrder }> = async (app, { findOrder }) => {
  for (const path of ['/t/:tenant/:waybill', '/t/:tenant/:waybill/:code'])
    app.get<{ Params: { tenant: string; waybill: string; code?: string }; Querystring: { lang?: unknown } }>(
      path,
      { schema: { hide: true } },
      async ({ params: { tenant, waybill, code }, query: { lang }, headers }, reply) => {
        const language = isLanguage(lang) ? lang : chooseLanguage(headers['accept-language'])
        const parcel = isTenantId.test(tenant) ? await findOrder(tenant, waybill) : undefined
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
