import { readInTenant } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { Percent, taxTables } from './tax-tables.ts'

const Taxes = Type.Object({
  tax_percent: Percent,
  withholding_percent: Percent,
  taxes: orNull(taxTables.taxes, { description: 'null: only tax_percent.' }),
  withholding: orNull(taxTables.withholding, { description: 'null: only withholding_percent.' }),
})
const taxesSql = `
  select tax_percent::float8, withholding_percent::float8, taxes::jsonb, withholding::jsonb
  from tenants where tenant_id = $1`

/** Shows staff the rates of taxes and withholdings. */
export const taxRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const reading = {
    operationId: 'getTaxes',
    summary: 'Read the rates of taxes and withholdings, as the company file has them',
    response: { 200: Type.Object({ data: Taxes }) },
  }
  app.get('/ledger/taxes', { schema: reading }, async ({ staff: { tenant } }) => {
    const about = { name: 'read_taxes', text: taxesSql, values: [tenant] }
    return { data: (await readInTenant<Static<typeof Taxes>>(pool, tenant, about))[0] as Static<typeof Taxes> }
  })
}
