import { type Static, type TOptional, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'

const defaultPerPage = 15
const maxPerPage = 1000

/** The query fields of a list in Laravel's shape (merchant-api "Calls"). A blank one is not given. */
export const pageFields = {
  page: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]{0,8})?$',
      description: 'Which page; 1 without it.',
      must: 'be a whole number, 1 or more',
    }),
  ),
  per_page: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]{0,2}|1000)?$',
      description: `How many rows a page has, 1 to ${maxPerPage}; ${defaultPerPage} without it.`,
      must: `be a whole number, 1 to ${maxPerPage}`,
    }),
  ),
  noPagination: Type.Optional(
    Type.String({
      pattern: '^(|1|[tT][rR][uU][eE]|0|[fF][aA][lL][sS][eE])$',
      description: 'With 1, true or bare: the whole list, without links and meta.',
      must: 'be true or false',
    }),
  ),
}

interface PageQuery {
  page?: string
  per_page?: string
  noPagination?: string
}

/** A page that was asked for: `perPage` rows from the one numbered `offset`, counted from 0. */
export interface WantedPage {
  readonly page: number
  readonly perPage: number
  readonly offset: number
}

/** undefined: the whole list is wanted. */
export const wantedPage = ({ page, per_page, noPagination }: PageQuery): WantedPage | undefined => {
  if (noPagination !== undefined && !/^(0|false)$/i.test(noPagination)) return undefined
  const number = Number(page || 1)
  const perPage = Number(per_page || defaultPerPage)
  return { page: number, perPage, offset: (number - 1) * perPage }
}

const Link = Type.Union([Type.String(), Type.Null()])
const RowNumber = Type.Union([Type.Integer(), Type.Null()])

/** The answer of a list: `data` alone when the whole of it was wanted. `example` is a row. */
export const ListOf = <Row extends TSchema>(row: Row, example: Static<Row>) =>
  Type.Object(
    {
      data: Type.Array(row),
      links: Type.Optional(Type.Object({ first: Type.String(), last: Type.String(), prev: Link, next: Link })),
      meta: Type.Optional(
        Type.Object({
          current_page: Type.Integer(),
          from: RowNumber,
          last_page: Type.Integer(),
          path: Type.String(),
          per_page: Type.Integer(),
          to: RowNumber,
          total: Type.Integer({ description: 'Rows of all pages.' }),
        }),
      ),
    },
    { examples: [toPage(exampleAddress, { page: 1, perPage: defaultPerPage, offset: 0 }, [example], 1)] },
  )

/** Where a call went: links lead back there. A request is one. */
export type CallAddress = Pick<FastifyRequest, 'protocol' | 'host' | 'url'>

const exampleAddress: CallAddress = { protocol: 'https', host: 'courier.example', url: '/list' }

/** The page `wanted`, whose rows are `rows`, of a list of `total`. The links keep the call's other query fields. */
export const toPage = <Row>(address: CallAddress, wanted: WantedPage, rows: readonly Row[], total: number) => {
  const { page, perPage, offset } = wanted
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const { path, linkTo } = linksOf(address)
  const isEmpty = rows.length === 0
  return {
    data: [...rows],
    links: {
      first: linkTo(1),
      last: linkTo(lastPage),
      prev: page > 1 ? linkTo(page - 1) : null,
      next: page < lastPage ? linkTo(page + 1) : null,
    },
    meta: {
      current_page: page,
      from: isEmpty ? null : offset + 1,
      last_page: lastPage,
      path,
      per_page: perPage,
      to: isEmpty ? null : offset + rows.length,
      total,
    },
  }
}

/** The address of a call without its query, and links that repeat the call with another page. */
export const linksOf = ({ protocol, host, url }: CallAddress) => {
  const [local = '', query = ''] = url.split(/\?(.*)/s)
  // A call without a Host header gets addresses without one.
  const path = host ? `${protocol}://${host}${local}` : local
  const fields = new URLSearchParams(query)
  for (const field of ['page', 'cursor']) fields.delete(field)
  const others = fields.size > 0 ? `${fields}&` : ''
  const linkWith = (field: 'page' | 'cursor', value: string | number) => `${path}?${others}${field}=${value}`
  return { path, linkWith, linkTo: (page: number) => linkWith('page', page) }
}

/** The part of `rows`, which is the whole list, that `query` asks for. */
export const pageOf = <Row>(address: CallAddress, query: PageQuery, rows: readonly Row[]) => {
  const wanted = wantedPage(query)
  if (!wanted) return { data: [...rows] }
  return toPage(address, wanted, rows.slice(wanted.offset, wanted.offset + wanted.perPage), rows.length)
}

/** Query fields `filter[name]` for the names of `fields`. */
export const filterFields = <Fields extends Record<string, TSchema>>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [`filter[${name}]`, Type.Optional(schema)]),
  ) as unknown as { [Name in keyof Fields & string as `filter[${Name}]`]: TOptional<Fields[Name]> }

/** Text to filter by, which Postgres takes: no null character, no half of a surrogate pair. */
export const FilterText = (description: string) =>
  Type.String({
    maxLength: 255,
    pattern: '^([^\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$',
    description,
    must: 'be text of at most 255 characters without a null character',
  })
