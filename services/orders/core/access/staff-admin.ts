import { print, printJson, printTable } from '@courier/shared/cli/command-line.ts'
import type { WithPool } from '@courier/shared/cli/operator-commands.ts'
import { readSecret } from '@courier/shared/cli/secret.ts'
import { staffRoles } from '@courier/shared/contract/staff-roles.ts'
import type { Command } from 'commander'
import {
  addStaff,
  changeRole,
  changeStaffPassword,
  deactivateStaff,
  listStaff,
  type NewStaff,
} from './staff-commands.ts'
import type { OnDeactivated } from './tokens.ts'

const readPassword = () => readSecret('STAFF_PASSWORD', 'password of the member of staff')
const roleOption = ['--role <roles>', `one or more roles, comma-separated: ${staffRoles.join(', ')}`] as const

/** Adds the commands `staff …` (docs/staff/staff.md). */
export const addStaffCommands = (program: Command, withPool: WithPool, onDeactivated: OnDeactivated): void => {
  const staff = program.command('staff').description('manage the members of staff who log in')
  /** Adds a command about one member of staff; `done` ends the sentence that reports what the command did. */
  const command = (
    name: string,
    description: string,
    done: string,
    act: (request: NewStaff) => ReturnType<typeof addStaff>,
  ) =>
    staff
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .requiredOption('--email <email>', 'the e-mail address that they log in with')
      .option('--json', 'print JSON', false)
      .action(async ({ json, ...request }) => show(await act(request), json, done))

  const addDescription = 'create a member of staff; the password comes from STAFF_PASSWORD or the terminal'
  command('add', addDescription, 'may log in', async request => {
    const password = await readPassword()
    return withPool(pool => addStaff(pool, request, password))
  })
    .requiredOption('--name <name>', 'their name, which timelines and the audit show')
    .requiredOption(...roleOption)

  staff
    .command('list')
    .description('list the members of staff who log in')
    .option('--tenant <id>', 'list only the staff of this tenant')
    .option('--json', 'print JSON', false)
    .action(async ({ tenant, json }) => {
      const rows = await withPool(pool => listStaff(pool, tenant))
      if (json) printJson(rows)
      else printTable(rows, 'There are no members of staff. Add one: orders staff add --help')
    })

  const roleDescription = 'change the roles; both services apply them within 5 seconds'
  command('role', roleDescription, 'has these roles', request =>
    withPool(pool => changeRole(pool, request)),
  ).requiredOption(...roleOption)

  const passwordDescription = 'change a password, from STAFF_PASSWORD or the terminal; sessions end within 5 seconds'
  command('password', passwordDescription, 'has a new password', async request => {
    const password = await readPassword()
    return withPool(pool => changeStaffPassword(pool, request, password))
  })

  const deactivateDescription = 'refuse the logins of a member of staff; sessions end within 5 seconds'
  command('deactivate', deactivateDescription, 'is deactivated', request =>
    withPool(pool => deactivateStaff(pool, request, onDeactivated)),
  )
}

const show = (row: Awaited<ReturnType<typeof addStaff>>, json: boolean, done: string): void => {
  if (json) printJson(row)
  else print(`${row.name} (${row.email}, ${row.role}) of tenant ${row.tenant_id} ${done}.`)
}
