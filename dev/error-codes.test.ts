import { readFileSync } from 'node:fs'
import t from 'tap'
import { errorCodesPage, errorCodesPath } from './error-codes.ts'

t.test('docs/error-codes.md matches the table', async t => {
  t.equal(readFileSync(errorCodesPath, 'utf8'), errorCodesPage())
})
