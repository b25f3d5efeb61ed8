import type { Capability } from '../../capability.ts'
import type { DoctorRequest } from './command.ts'

/** Finds out whether messaging works (docs/operators/messaging-setup.md). */
export const doctor: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).doctorRoutes(staff, core) } }),
  addCommands: (program, connections) =>
    program
      .command('doctor')
      .description('find out whether messaging works, and what to do; ends with 1 if a line is wrong')
      .requiredOption('--tenant <id>', 'the tenant')
      .option('--channel <id>', 'the phone number id; without it, all numbers of the tenant')
      .option('--fix', 'subscribe the app to the account, if that is missing')
      .option('--json', 'print JSON', false)
      .action(async (request: DoctorRequest) => {
        const isWell = await (await import('./command.ts')).doctor(connections, request)
        if (!isWell) process.exitCode = 1
      }),
}
