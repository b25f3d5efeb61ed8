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
  type StaffRequest,
} from './staff-commands.ts'

type WithJson<Request> = Request & { json: boolean }

const readPassword = () => readSecret('STAFF_PASSWORD', 'password of the member of staff')
const roleOption = ['--role <roles>', `one or more, with commas between: ${staffRoles.join(', ')}`] as const

/** Adds the commands `staff …` (docs/staff/staff.md). */
export const addStaffCommands = (program: Command, withPool: WithPool): void => {
  const staff = program.command('staff').description('the members of staff who log in')
  const command = (name: string, description: string) =>
    staff
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .requiredOption('--email <email>', 'the e-mail address that they log in with')
      .option('--json', 'print JSON', false)

  command('add', 'create a member of staff; the password comes from STAFF_PASSWORD or the terminal')
    .requiredOption('--name <name>', 'their name, which timelines and the audit show')
    .requiredOption(...roleOption)
    .action(async ({ json, ...request }: WithJson<NewStaff>) => {
      const password = await readPassword()
      show(await withPool(pool => addStaff(pool, request, password)), json, 'may log in')
    })

  staff
    .command('list')
    .description('all members of staff who log in')
    .option('--tenant <id>', 'of that tenant alone')
    .option('--json', 'print JSON', false)
    .action(async ({ tenant, json }) => {
      const rows = await withPool(pool => listStaff(pool, tenant))
      if (json) printJson(rows)
      else printTable(rows, 'There is no staff. Add somebody: orders staff add --help')
    })

  command('role', 'change the roles; within 5 seconds both services go by it')
    .requiredOption(...roleOption)
    .action(async ({ json, ...request }: WithJson<StaffRequest & { role: string }>) =>
      show(await withPool(pool => changeRole(pool, request)), json, 'has these roles'),
    )

  command('password', 'change a password, from STAFF_PASSWORD or the terminal; sessions end within 5 seconds').action(
    async ({ json, ...request }: WithJson<StaffRequest>) => {
      const password = await readPassword()
      show(await withPool(pool => changeStaffPassword(pool, request, password)), json, 'has another password')
    },
  )

  command('deactivate', 'refuse the logins of a member of staff; sessions end within 5 seconds').action(
    async ({ json, ...request }: WithJson<StaffRequest>) =>
      show(await withPool(pool => deactivateStaff(pool, request)), json, 'is deactivated'),
  )
}

const show = (row: Awaited<ReturnType<typeof addStaff>>, json: boolean, done: string): void => {
  if (json) printJson(row)
  else print(`${row.name} (${row.email}, ${row.role}) of tenant ${row.tenant_id} ${done}.`)
}
