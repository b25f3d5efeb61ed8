import { addAmounts } from '@courier/shared/currency.ts'
import { errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyPluginAsync, FastifySchema } from 'fastify'
import type pg from 'pg'
import { readScope } from '../../core/access/merchant.ts'
import type { Paper } from '../labels/draw-paper.ts'
import type { Printer } from '../labels/printer.ts'
import { MerchantParams, sum } from '../money/ledger/fields.ts'
import { formatField } from '../money/papers/csv.ts'
import { splitLines, wordAmount } from '../money/papers/paper.ts'
import { monthField } from './month-report.ts'
import { readWithheld, Withheld } from './withholding-statement.ts'

// Serves the certificate of what was withheld of a merchant in a month that has ended, which the merchant gives to its
// tax office (docs/money.md#withholding-by-table).

const party = { name: Type.String(), address: Type.String(), tax_number: Type.String() }
const Party = Type.Object(party)
const Certificate = Type.Object(
  {
    number: Type.String({ description: 'The month and the id of the merchant.', examples: ['2026-02-1'] }),
    month: monthField,
    currency: Type.String({ examples: ['PKR'] }),
    company: Party,
    merchant: Party,
    rows: Type.Array(Withheld),
    total: sum('The sum of all withholdings.', 836),
  },
  { title: 'WithholdingCertificate' },
)
type Certificate = Static<typeof Certificate>
const Query = Type.Object({ month: monthField, format: formatField('json', 'pdf') })
const pdf = { schema: Type.String({ description: 'A PDF file.', examples: ['%PDF-1.3'] }) }

interface Options {
  readonly pool: pg.Pool
  readonly printer: Printer
}

const addCertificate = (app: FastifyInstance, { pool, printer }: Options, path: string, about: FastifySchema): void => {
  const json = { schema: Type.Object({ data: Certificate }) }
  const content = { 'application/json': json, 'application/pdf': pdf }
  const response = { 200: { description: 'The certificate.', content }, ...errorResponses(404, 422) }
  const schema = { ...about, querystring: Query, response }
  app.get<{ Params: { merchant_id?: string }; Querystring: Static<typeof Query> }>(
    path,
    { schema },
    async (request, reply) => {
      const { tenant, merchantId } = readScope(request)
      const { month, format } = request.query
      const data = await readCertificate(pool, tenant, month, merchantId ?? request.params.merchant_id ?? '')
      if (format !== 'pdf') return { data }
      const drawn = printer.print(tenant, { kind: 'paper', paper: composeCertificate(data) })
      if (!drawn)
        throw httpError('unavailable', 'Too many PDFs are being drawn at once. Repeat the request.', {
          retryAfterSeconds: 2,
        })
      reply.header('content-disposition', `inline; filename="withholding-${data.number}.pdf"`).type('application/pdf')
      return reply.send(drawn)
    },
  )
}

const readCertificate = async (pool: pg.Pool, tenant: string, month: string, merchant: string) => {
  const values = [tenant, merchant, `${month}-01`]
  const [found] = await readInTenant<Pick<Certificate, 'currency' | 'company' | 'merchant'> & { has_ended: boolean }>(
    pool,
    tenant,
    { name: 'read_parties', text: partiesSql, values },
  )
  if (!found) throw notFound('merchant')
  const { has_ended, ...parties } = found
  if (!has_ended) throw invalid({ month: [`${month} has not ended: give an earlier month.`] })
  const rows = await readWithheld(pool, tenant, month, { merchant, limit: 1000 })
  const total = addAmounts(rows.map(({ withheld }) => withheld))
  return { number: `${month}-${merchant}`, month, ...parties, rows, total }
}

const partySql = (table: string): string => `json_build_object('name', ${table}.name,
    'address', coalesce(${table}.postal_address, ''), 'tax_number', coalesce(${table}.tax_number, ''))`
const partiesSql = `
  select currency, ${partySql('tenants')} as company, ${partySql('merchants')} as merchant,
    (now() at time zone time_zone)::date >= ($3::date + interval '1 month')::date as has_ended
  from tenants join merchants on merchants.tenant_id = tenants.tenant_id
  where tenants.tenant_id = $1 and merchant_id = $2`

/** Composes a certificate for paper. */
const composeCertificate = ({ number, month, currency, company, merchant, rows, total }: Certificate): Paper => {
  const word = (amount: number) => wordAmount(amount, currency)
  const list = ({ name, address, tax_number }: Certificate['company']) => [
    ...[name, ...splitLines(address)],
    ...(tax_number ? [`Tax number ${tax_number}`] : []),
  ]
  return {
    ...{ title: 'Withholding certificate', number, dated: `${month}-01`, from: list(company), to: list(merchant) },
    facts: [`Month ${month}`],
    sums: [],
    total: [`Withheld of cash on delivery (${currency})`, word(total)],
    notes: [],
    columns: ['Tax', 'Rate %', 'Parcels', 'Collected', 'Withheld'].map((head, at) => ({ head, isAmount: at > 0 })),
    rows: rows.map(({ name, percent, parcels, collected, withheld }) => [
      ...[name ?? 'Tax', String(percent ?? ''), String(parcels), word(collected), word(withheld)],
    ]),
  }
}

const plugin =
  (path: string, operationId: string, summary: string, about: FastifySchema = {}): FastifyPluginAsync<Options> =>
  async (app, options) =>
    addCertificate(app, options, path, { operationId, summary, ...about })

export const certificateRoutes = plugin(
  ...(['/withholding', 'getWithholding', 'Read the certificate of what a month withheld of you'] as const),
)
export const merchantCertificateRoutes = plugin(
  '/merchant/:merchant_id/withholding',
  'getMerchantWithholding',
  'Read the certificate of what a month withheld of a merchant',
  { params: MerchantParams },
)
