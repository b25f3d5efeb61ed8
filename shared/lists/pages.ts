import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { makeExample } from '../api-docs/examples.ts'
import { orNull } from '../schemas.ts'
import '../edge/public-url.ts'

const defaultPerPage = 15
const maxPerPage = 1000

const Flag = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 5,
      pattern: '^(|1|[tT][rR][uU][eE]|0|[fF][aA][lL][sS][eE])$',
      description,
      must: 'be true or false',
    }),
  )

const Count = (maxLength: number, description: string) =>
  Type.Optional(
    Type.String({
      maxLength,
      pattern: '^([1-9][0-9]*)?$',
      description,
      must: 'be a whole number, 1 or more',
      documented: { type: 'integer', minimum: 1 },
    }),
  )

/**
 * Describes the query fields of a list in Laravel's shape (docs/merchants/contract.md#lists). A blank field counts as
 * absent.
 */
export const pageFields = {
  page: Count(9, 'Page number. Default: 1.'),
  per_page: Count(18, `Rows per page; more than ${maxPerPage} count as ${maxPerPage}. Default: ${defaultPerPage}.`),
  noPagination: Flag('With 1, true or no value: the whole list, without links and meta.'),
  noPaginationNoFilter: Flag('The same as noPagination: filters still apply.'),
}

type PageQuery = Static<TObject<typeof pageFields>>

/** Describes a requested page: `perPage` rows from row `offset`, counted from 0. */
export interface WantedPage {
  readonly page: number
  readonly perPage: number
  readonly offset: number
}

/** Returns true if a flag is set; a flag without a value is set. */
const isSet = (flag: string | undefined): boolean => flag !== undefined && !/^(0|false)$/i.test(flag)

/** Returns the requested page; undefined: the whole list. */
export const wantedPage = ({ page, per_page, ...flags }: PageQuery): WantedPage | undefined => {
  if (isSet(flags.noPagination) || isSet(flags.noPaginationNoFilter)) return undefined
  const number = Number(page || 1)
  const perPage = Math.min(maxPerPage, Number(per_page || defaultPerPage))
  return { page: number, perPage, offset: (number - 1) * perPage }
}

const Link = orNull(Type.String())
const RowNumber = orNull(Type.Integer())

/** Describes the response of a list, which has only `data` when the whole list was requested. */
export const ListBody = <Row extends TSchema>(row: Row) =>
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
          total: Type.Integer({ description: 'The number of rows on all pages.' }),
        }),
      ),
    },
    {
      ...(row.title && { title: `${row.title}List` }),
      examples: [toPage(exampleAddress, { page: 1, perPage: defaultPerPage, offset: 0 }, [makeExample(row)], 1)],
    },
  )

/** Holds the URL that links lead back to, as a request does. */
export type RequestAddress = Pick<FastifyRequest, 'publicUrl' | 'originalUrl'>

const exampleAddress: RequestAddress = { publicUrl: 'https://courier.example', originalUrl: '/list' }

/**
 * Returns the page `wanted`, with its `rows`, of a list of `total` rows. The links keep the request's other query
 * fields.
 */
export const toPage = <Row>(address: RequestAddress, wanted: WantedPage, rows: readonly Row[], total: number) => {
  const { page, perPage, offset } = wanted
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const { path, linkTo } = writeLinks(address)
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

/** Returns the URL of a request without its query, and links that repeat the request with another page. */
export const writeLinks = ({ publicUrl, originalUrl }: RequestAddress) => {
  const [local = '', query = ''] = originalUrl.split(/\?(.*)/s)
  const path = publicUrl + local
  const fields = new URLSearchParams(query)
  for (const field of ['page', 'cursor']) fields.delete(field)
  const others = fields.size > 0 ? `${fields}&` : ''
  const linkWith = (field: 'page' | 'cursor', value: string | number) => `${path}?${others}${field}=${value}`
  return { path, linkWith, linkTo: (page: number) => linkWith('page', page) }
}

/** Returns the page that `query` requests of `rows`, the whole list. */
export const writePage = <Row>(address: RequestAddress, query: PageQuery, rows: readonly Row[]) => {
  const wanted = wantedPage(query)
  if (!wanted) return { data: [...rows] }
  return toPage(address, wanted, rows.slice(wanted.offset, wanted.offset + wanted.perPage), rows.length)
}
