import { print, printJson, UsageError } from '@courier/shared/cli/command-line.ts'
import type { WithPool } from '@courier/shared/cli/operator-commands.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Command } from 'commander'
import type pg from 'pg'
import type { Capability } from '../../capability.ts'
import { readProviders } from '../../core/access/providers.ts'
import { findStaffLogin } from '../../core/access/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { signInPart } from './company.ts'
import { entryRoutes } from './entry-routes.ts'
import { createMailer, deleteOldInvitations, endInvitations, makeInvitation } from './invitations.ts'
import { merchantPeopleRoutes, staffPeopleRoutes } from './people-routes.ts'
import { createProviderClient } from './provider-client.ts'
import { deleteOldSignIns, providerRoutes } from './provider-routes.ts'
import { checkLogins, opensFactor, resetSignIn, rotateFactors } from './second-factor.ts'
import { merchantSessionRoutes, staffSessionRoutes } from './sessions.ts'
import { type Side, sides } from './sides.ts'

/** Lets people in without a shell, and out at once (docs/operators/sign-in.md). */
export const signIn: Capability = {
  start: core => {
    const mailer = createMailer(core)
    const clients = readProviders(core.signInProviders).map(createProviderClient)
    const providers = new Map(clients.map(client => [client.provider.id, client]))
    const listProviders = (tenant: string, side: Side) =>
      clients.flatMap(({ provider: { id, name, tenants, for: whom } }) =>
        tenants.includes(tenant) && whom === side.for ? [{ id, name }] : [],
      )
    const options = { ...core, mailer, providers, listProviders }
    return {
      routes: {
        staff: [app => staffPeopleRoutes(app, options), staffSessionRoutes],
        account: [app => merchantPeopleRoutes(app, options), merchantSessionRoutes],
        entry: [app => entryRoutes(app, options), app => providerRoutes(app, options)],
      },
      checkLogin: checkLogins(core.pool, core.keyring),
      clients: mailer ? [mailer] : [],
    }
  },
  company: signInPart,
  onDeactivated: (tx, tenant, column, id) => endInvitations(tx, tenant, { column }, id),
  housekeeping: [deleteOldInvitations, deleteOldSignIns],
  rotateKeys: rotateFactors,
  opensNewest: opensFactor,
  addCommands: (program, withPool) => addRecovery(program, withPool),
}

interface Recovery {
  readonly tenant: string
  readonly email: string
}

/** Makes a link that signs a member of staff in once, even where only the provider may, and resets their sign-in. */
const recover = async (pool: pg.Pool, { tenant, email }: Recovery): Promise<string> => {
  await requireTenant(pool, tenant)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const row = await findStaffLogin(tx, tenant, email, false)
    if (!row?.is_active) throw new UsageError(`the tenant ${tenant} has no active member of staff ${email}`)
    const by = operator()
    await resetSignIn(tx, tenant, sides.staff, { id: row.staff_id, name: row.name }, by)
    await audit(tx, tenant, by, 'staff.invited', row.name)
    return (await makeInvitation(tx, tenant, sides.staff, row.staff_id, by, true)).code
  })
}

const addRecovery = (program: Command, withPool: WithPool): void => {
  const staff = program.commands.find(each => each.name() === 'staff')
  staff
    ?.command('recover')
    .description('make a link that signs a member of staff in once; their second factor is forgotten')
    .requiredOption('--tenant <id>', 'the tenant')
    .requiredOption('--email <email>', 'the e-mail address of the member of staff')
    .option('--console <url>', 'the address of the console', 'http://127.0.0.1:3001/portal/')
    .option('--json', 'print JSON', false)
    .action(async ({ json, console: page, ...request }) => {
      const code = await withPool(pool => recover(pool, request))
      const url = `${page.replace(/\/?$/, '/')}#/recover/${request.tenant}/${code}`
      if (json) printJson({ url })
      else print(`Within 72 hours, this link works once:\n${url}`)
    })
}
