import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { cursorFields, listCursor } from './cursor.ts'

const cursor = listCursor(/^\d{4}-\d\d$/, /^\w*$/)
const catchError = (action: () => unknown): unknown => {
  try {
    return action()
  } catch (error) {
    return error
  }
}
const encode = (text: string) => Buffer.from(text).toString('base64url')

t.test('a cursor restores the position that it was made from', async t => {
  for (const position of [
    ['2026-02', 'DM1'],
    ['2026-02', ''],
  ])
    t.strictSame(cursor.read({ cursor: cursor.write(position) }), { after: position, limit: 50 })
  t.strictSame(cursor.read({ limit: '7' }), { after: [], limit: 7 })
  t.strictSame(cursor.read({ cursor: '' }), { after: [], limit: 50 }, 'blank is absent')
})

t.test('refuses a cursor of another list, and malformed cursors', async t => {
  const refusal = {
    statusCode: 422,
    details: { errors: { cursor: ['The cursor field must be the next_cursor of a page.'] } },
  }
  for (const text of ['x', encode('2026-02'), encode('2026-02 a b'), encode('2026-2 a'), encode('2026-02 a\0')])
    t.match(
      catchError(() => cursor.read({ cursor: text })),
      refusal,
      text,
    )
})

t.test('a page has a cursor if one more row follows', async t => {
  const toPosition = (row: string) => ['2026-02', row]
  t.strictSame(cursor.toPage(['a', 'b'], 2, toPosition), { data: ['a', 'b'], next_cursor: null })
  const next_cursor = cursor.write(['2026-02', 'b'])
  t.strictSame(cursor.toPage(['a', 'b', 'c'], 2, toPosition), { data: ['a', 'b'], next_cursor })
  t.strictSame(cursor.toPage([], 2, toPosition), { data: [], next_cursor: null })
  t.ok(Value.Check(Type.Object(cursorFields), { limit: '200', cursor: next_cursor }))
})
