import t from 'tap'
import { CommitInDoubt } from '../postgres/database.ts'
import { runCommand } from './command-line.ts'

t.test('a command reports that the outcome of its commit is unknown', async t => {
  const written = t.capture(process.stderr, 'write')
  const failCommit = async () => {
    throw new CommitInDoubt({ cause: new Error('Connection terminated unexpectedly') })
  }
  await runCommand(failCommit, { program: 'orders', databaseSetting: 'ORDERS_DATABASE_URL' })
  t.match(written.args()[0]?.[0], /^orders: .*not known.* look before you repeat it\n$/)
  t.equal(process.exitCode, 1)
  process.exitCode = 0
})
