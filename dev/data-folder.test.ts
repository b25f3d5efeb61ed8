import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepareDataFolder } from './data-folder.ts'

t.test(
  'accepts an existing folder, creates a missing one, and refuses one that this user may not write to',
  async t => {
    const folder = t.testdir({ closed: {}, open: { file: '' } })
    await prepareDataFolder(join(folder, 'open'))
    await prepareDataFolder(join(folder, 'fresh/below'))
    chmodSync(join(folder, 'closed'), 0o555)
    const isRoot = process.getuid?.() === 0
    // Acts as another user, since root may write everywhere.
    if (isRoot) process.seteuid?.(65_534)
    const message = /DATA_DIR .*closed is not writable for .*Set DATA_DIR to a folder/
    await t.rejects(prepareDataFolder(join(folder, 'closed')), { message })
    await t.rejects(prepareDataFolder(join(folder, 'closed/below')), { message: /closed.below is not writable/ })
    if (isRoot) process.seteuid?.(0)
  },
)
