import { errorResponses, httpError } from '@courier/shared/errors/errors.ts'
import { pageOf, wantedPage } from '@courier/shared/lists/pages.ts'
import { filterRows } from '@courier/shared/lists/row-filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Merchant } from '../access/merchant.ts'
import { findBusinessesOf } from '../access/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { Catalogues } from './catalogue.ts'
import { BusinessQuery, businessFilters, CityQuery, cityFilters, StateQuery, stateFilters } from './filters.ts'
import { Business, Businesses, ById, Cities, City, State, States } from './schema.ts'

export interface CatalogueOptions {
  pool: pg.Pool
  catalogues: Catalogues
}

/** The responses match their schemas as they are; long lists serialize twice as fast without them. */
const serializerCompiler = () => JSON.stringify

const common = { tags: ['merchant'], security: [{ token: [] }] }
const errors = errorResponses(400, 401, 405, 422, 429, 503)

/** The lists that merchants choose from, by id. Only active rows. */
export const catalogueListRoutes: FastifyPluginAsyncTypebox<CatalogueOptions> = async (app, { pool, ...options }) => {
  app.get(
    '/business',
    {
      schema: {
        ...common,
        operationId: 'listBusinesses',
        summary: "List the merchant's businesses",
        querystring: BusinessQuery.schema,
        response: { 200: Businesses, ...errors },
      },
    },
    async request => {
      const rows = await businessesOf(pool, request.merchant)
      return pageOf(request, request.query, filterRows(businessFilters, BusinessQuery.read(request.query), rows))
    },
  )

  app.get(
    '/state',
    {
      schema: {
        ...common,
        operationId: 'listStates',
        summary: 'List the states',
        querystring: StateQuery.schema,
        response: { 200: States, ...errors },
      },
      serializerCompiler,
    },
    async (request, reply) => {
      const lists = await findLists(options, request.merchant)
      const isWhole = !wantedPage(request.query)
      const all = lists.states(isWhole || includesCities(request.query.include))
      const rows = filterRows(stateFilters, StateQuery.read(request.query), all)
      if (isWhole && rows === all) return sendJson(reply, lists.statesJson)
      return pageOf(request, request.query, rows)
    },
  )
}

interface CityListOptions extends Omit<CatalogueOptions, 'pool'> {
  tag: string
  operationId: string
  /** Staff have no merchant, and so no zones. */
  callerOf: (request: FastifyRequest) => { tenant: string; merchantId?: string }
}

/** The cities of the tenant. */
export const cityRoutes: FastifyPluginAsyncTypebox<CityListOptions> = async (app, options) => {
  const { tag, operationId, callerOf } = options
  app.get(
    '/city',
    {
      schema: {
        ...common,
        tags: [tag],
        operationId,
        summary: 'List the cities',
        querystring: CityQuery.schema,
        response: { 200: Cities, ...errors },
      },
      serializerCompiler,
    },
    async (request, reply) => {
      const lists = await findLists(options, callerOf(request))
      const rows = filterRows(cityFilters, CityQuery.read(request.query), lists.cities)
      if (!wantedPage(request.query) && rows === lists.cities) return sendJson(reply, lists.citiesJson)
      return pageOf(request, request.query, rows)
    },
  )
}

/** Sends bytes as they are, past the types and the serializer. */
const sendJson = (reply: FastifyReply, json: Buffer) => reply.type('application/json; charset=utf-8').send(json)

const businessesOf = async (pool: pg.Pool, { tenant, merchantId }: Merchant) => {
  const rows = await inTenant(pool, tenant, (tx: Tx) => findBusinessesOf(tx, tenant, merchantId))
  return rows.map(({ business_id: id, ...row }) => ({ id, ref_no: String(id), business_name: row.name, ...row }))
}

/** The cities and states of the tenant with the merchant's zones. */
const findLists = async (
  { catalogues }: Omit<CatalogueOptions, 'pool'>,
  { tenant, merchantId = '' }: { tenant: string; merchantId?: string },
) => catalogues.lists(await catalogues.fresh(tenant), merchantId)

const includesCities = (include = ''): boolean => include.split(',').some(name => name.trim() === 'cities')

/** One of the rows that merchants choose from. */
export const catalogueRowRoutes: FastifyPluginAsyncTypebox<CatalogueOptions> = async (app, { pool, ...options }) => {
  const schema = { ...common, params: ById }
  const errors = errorResponses(400, 401, 404, 405, 429, 503)
  app.get(
    '/business/:id',
    {
      schema: {
        ...schema,
        operationId: 'getBusiness',
        summary: "One of the merchant's businesses",
        response: { 200: Business, ...errors },
      },
    },
    async request => oneOf('business', await businessesOf(pool, request.merchant), request.params.id),
  )
  app.get(
    '/state/:id',
    {
      schema: {
        ...schema,
        operationId: 'getState',
        summary: 'One state with its cities',
        response: { 200: State, ...errors },
      },
      serializerCompiler,
    },
    async request => {
      const lists = await findLists(options, request.merchant)
      return oneOf('state', lists.states(true), request.params.id)
    },
  )
  app.get(
    '/city/:id',
    {
      schema: { ...schema, operationId: 'getCity', summary: 'One city', response: { 200: City, ...errors } },
      serializerCompiler,
    },
    async request => {
      const lists = await findLists(options, request.merchant)
      return oneOf('city', lists.cities, request.params.id)
    },
  )
}

const oneOf = <Row extends { readonly id: number }>(kind: string, rows: readonly Row[], id: string): { data: Row } => {
  const row = rows.find(row => String(row.id) === id)
  if (row) return { data: row }
  throw httpError('not_found', `The requested ${kind} does not exist in the system`)
}
