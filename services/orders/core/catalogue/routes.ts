import { notFound } from '@courier/shared/errors/errors.ts'
import { filterRows } from '@courier/shared/lists/filters.ts'
import { wantedPage, writePage } from '@courier/shared/lists/pages.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static, TObject } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { type Merchant, type OrderScope, readScope } from '../access/merchant.ts'
import { findActiveBusinesses } from '../access/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { Catalogues } from './catalogue.ts'
import { createLists, type Lists } from './lists.ts'
import { ById, businesses, cities, states } from './schema.ts'

type CatalogueOptions = { pool: pg.Pool; catalogues: Catalogues }

/** The responses match their schemas as they are; long lists serialize twice as fast without schemas. */
const serializerCompiler = () => JSON.stringify

const listSchema = <Query extends TObject>(
  operationId: string,
  summary: string,
  { Query, List }: { Query: { schema: Query }; List: TObject },
) => ({ schema: { operationId, summary, querystring: Query.schema, response: { 200: List } } })

/** Serves the active businesses, cities and states that merchants choose from, as lists and as single rows by id. */
export const catalogueRoutes: FastifyPluginAsyncTypebox<CatalogueOptions> = async (app, { pool, catalogues }) => {
  const findFor = (merchant: Merchant) => findLists(catalogues, merchant)
  app.get('/business', listSchema('listBusinesses', "List the merchant's businesses", businesses), async request => {
    const rows = await findBusinesses(pool, request.merchant)
    return writePage(request, request.query, filterRows(businesses.filters, businesses.Query.read(request.query), rows))
  })

  const citySchema = listSchema('listCities', 'List the cities', cities)
  app.get('/city', { ...citySchema, serializerCompiler }, async (request, reply) =>
    sendCities(request, reply, await findFor(request.merchant)),
  )

  const stateSchema = listSchema('listStates', 'List the states', states)
  app.get('/state', { ...stateSchema, serializerCompiler }, async (request, reply) => {
    const lists = await findFor(request.merchant)
    const { query } = request
    const isWhole = !wantedPage(query)
    const rows = filterRows(states.filters, states.Query.read(query), lists.states)
    if (isWhole && rows === lists.states) return sendJson(reply, lists.toJson('states'))
    const hasCities = isWhole || includesCities(query.include)
    return writePage(request, query, hasCities ? rows : rows.map(({ cities: _, ...state }) => state))
  })

  const addOne = (
    kind: string,
    [operationId, summary]: readonly [operationId: string, summary: string],
    one: TObject,
    findRows: (merchant: Merchant) => Promise<readonly { readonly id: number }[]>,
  ) => {
    const response = { 200: one }
    const schema = { operationId, summary, params: ById, response }
    app.get(`/${kind}/:id`, { schema, serializerCompiler }, async ({ merchant, params: { id } }) => {
      const row = (await findRows(merchant)).find(row => String(row.id) === id)
      if (row) return { data: row }
      throw notFound(kind)
    })
  }
  addOne('business', ['getBusiness', "Get one of the merchant's businesses"], businesses.One, merchant =>
    findBusinesses(pool, merchant),
  )
  addOne(
    'state',
    ['getState', 'Get one state with its cities'],
    states.One,
    async merchant => (await findFor(merchant)).states,
  )
  addOne('city', ['getCity', 'Get one city'], cities.One, async merchant => (await findFor(merchant)).cities)
}

/** Serves the cities to staff, who have no merchant and therefore no zones. */
export const staffCityRoutes: FastifyPluginAsyncTypebox<{ catalogues: Catalogues }> = async (app, { catalogues }) => {
  const citySchema = listSchema('listStaffCities', 'List the cities', cities)
  app.get('/city', { ...citySchema, serializerCompiler }, async (request, reply) =>
    sendCities(request, reply, await findLists(catalogues, readScope(request))),
  )
}

const sendCities = (request: FastifyRequest, reply: FastifyReply, lists: Lists) => {
  const query = request.query as Static<typeof cities.Query.schema>
  const rows = filterRows(cities.filters, cities.Query.read(query), lists.cities)
  if (!wantedPage(query) && rows === lists.cities) return sendJson(reply, lists.toJson('cities'))
  return writePage(request, query, rows)
}

/** Sends prepared bytes, without the serializer. */
const sendJson = (reply: FastifyReply, json: Buffer) => reply.type('application/json; charset=utf-8').send(json)

const findBusinesses = async (pool: pg.Pool, { tenant, merchantId }: Merchant) => {
  const rows = await inTenant(pool, tenant, (tx: Tx) => findActiveBusinesses(tx, tenant, merchantId))
  return rows.map(({ business_id: id, ...row }) => ({ id, ref_no: String(id), business_name: row.name, ...row }))
}

/** Returns the cities and states with the zones of the merchant's card: merchants with the same card share them. */
const findLists = async (catalogues: Catalogues, { tenant, merchantId }: OrderScope) => {
  const catalogue = await catalogues.fresh(tenant)
  const card = catalogue.rateCards.get(merchantId ?? '')
  return catalogues.keep(catalogue, card?.name ?? '', () => createLists(catalogue.cities, card, catalogue.country))
}

const includesCities = (include = ''): boolean => include.split(',').some(name => name.trim() === 'cities')
