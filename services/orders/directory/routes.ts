import { inTenant } from '@courier/shared/database.ts'
import { errorAnswers } from '@courier/shared/http/errors.ts'
import { pageOf, wantedPage } from '@courier/shared/http/pages.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type pg from 'pg'
import { type Merchant, merchantOf } from '../access/merchant.ts'
import { findBusinessesOf } from '../access/queries.ts'
import type { Catalogues } from '../booking/catalogue.ts'
import type { Tx } from '../database/tables.ts'
import { listCities, wholeCityList } from './city-list.ts'
import { Businesses, Cities, CityQuery, ListQuery, States } from './schema.ts'

export interface DirectoryOptions {
  pool: pg.Pool
  catalogues: Catalogues
}

const common = { tags: ['merchant'], security: [{ token: [] }] }
const errors = errorAnswers(400, 401, 405, 422, 429, 503)

/** The lists that merchants choose from, in the order of ids. Rows that are no longer active are left out. */
export const directory: FastifyPluginAsyncTypebox<DirectoryOptions> = async (app, { pool, catalogues }) => {
  app.get(
    '/business',
    {
      schema: {
        ...common,
        summary: "List the merchant's businesses",
        querystring: ListQuery,
        response: { 200: Businesses, ...errors },
      },
    },
    async request => pageOf(request, request.query, await businessesOf(pool, merchantOf(request))),
  )

  app.get(
    '/state',
    {
      schema: { ...common, summary: 'List the states', querystring: ListQuery, response: { 200: States, ...errors } },
    },
    async request => pageOf(request, request.query, await statesOf(catalogues, merchantOf(request))),
  )

  app.get(
    '/city',
    {
      schema: { ...common, summary: 'List the cities', querystring: CityQuery, response: { 200: Cities, ...errors } },
      // The answer has what the schema says, and long lists are written twice as fast.
      serializerCompiler: () => JSON.stringify,
    },
    async (request, reply) => {
      const { tenant, merchantId } = merchantOf(request)
      const { places, rateCards } = await catalogues.fresh(tenant)
      const card = rateCards.get(merchantId)
      const filter = { name: request.query['filter[name]'], stateId: request.query['filter[state_id]'] }
      if (!wantedPage(request.query) && !filter.name && !filter.stateId)
        return sendJson(reply, wholeCityList(places, card))
      return pageOf(request, request.query, listCities(places, card, filter))
    },
  )
}

/** Bytes leave as they are, past the types and the serializer. */
const sendJson = (reply: FastifyReply, json: Buffer) => reply.type('application/json; charset=utf-8').send(json)

const businessesOf = async (pool: pg.Pool, { tenant, merchantId }: Merchant) => {
  const rows = await inTenant(pool, tenant, (tx: Tx) => findBusinessesOf(tx, tenant, merchantId))
  return rows.map(({ business_id, ...row }) => ({ id: business_id, ref_no: String(business_id), ...row }))
}

const statesOf = async (catalogues: Catalogues, { tenant }: Merchant) => {
  const { places } = await catalogues.fresh(tenant)
  return places.states.map(({ id, name }) => ({ id, ref_no: String(id), name, is_active: true }))
}
