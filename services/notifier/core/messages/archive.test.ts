import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { makeFolder } from '../../../../dev/test-database.ts'
import { archiveWith } from '../../test/command-line.ts'
import { messageTo } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import type { Tx } from '../database/tables.ts'

t.test('moves old finished messages and their timelines to files', async t => {
  const { accept, call, rows, url, ownerUrl } = await build(t)
  const folder = makeFolder(t)
  const owner = createPool({ url: ownerUrl, name: 'test owner', connections: 1 })
  t.teardown(() => owner.end())
  const change = (text: string, values: unknown[]) => inTenant(owner, 'demo', (tx: Tx) => tx.client.query(text, values))
  const ages: [id: string, status: string, days: number][] = [
    ['msg_000000001000000000000000a', 'read', 401],
    ['msg_000000001000000000000000b', 'failed', 401],
    ['msg_000000001000000000000000c', 'unknown', 401],
    ['msg_000000001000000000000000d', 'queued', 401],
    ['msg_000000001000000000000000e', 'read', 399],
  ]
  for (const [id, status, days] of ages) {
    const [made] = await accept(messageTo('0770000101', { waybill_number: 'DM00000001' }))
    await change('update message_events set message_id = $1 where message_id = $2', [id, made])
    await change(
      `update messages set message_id = $1, status = $2, status_at = now() - make_interval(days => $3)
        where message_id = $4`,
      [id, status, days, made],
    )
  }
  const [young = ''] = await accept(messageTo('0770000102'))

  const archive = (...words: string[]) =>
    archiveWith({ url, ownerUrl }, '--older-than', '400', '--to', folder, ...words)
  const counted = ['messages', 'message_events'].map(table => ({ tenant: 'demo', table, rows: 2, files: 1 }))
  t.strictSame(JSON.parse(await archive('--only', 'messages', '--json', '--dry-run')).archived, counted)
  t.strictSame(JSON.parse(await archive('--only', 'messages', '--json')).archived, counted)
  const left = [...ages.slice(2).map(([id]) => id), young]
  const idsIn = async (table: string) =>
    (await rows(`select message_id as id from ${table} order by message_id`)).map(row => row.id)
  t.strictSame([await idsIn('messages'), await idsIn('message_events')], [left, left])
  for (const table of ['messages', 'message_events']) {
    const name = readdirSync(join(folder, 'demo')).find(name => name.startsWith(`${table}-`)) ?? ''
    const lines = gunzipSync(readFileSync(join(folder, 'demo', name)))
      .toString()
      .trimEnd()
      .split('\n')
    t.strictSame(
      lines.map(line => JSON.parse(line).message_id).toSorted(),
      ages.slice(0, 2).map(([id]) => id),
      table,
    )
  }

  const [[gone]] = ages as [(typeof ages)[number]]
  t.match(await call('GET', `/api/messages/${gone}`), { status: 404, body: { code: 'not_found' } })
  for (const action of ['cancel', 'resend'])
    t.equal((await call('POST', `/api/messages/${gone}/${action}`)).status, 404, action)
  const listed = (await call('GET', '/api/messages?waybill_number=DM00000001')).body.data
  t.strictSame(
    listed.map(({ id }: { id: string }) => id),
    left.slice(0, 3).toReversed(),
  )
  t.match(await archive('--only', 'messages'), /^No finished rows are that old\.$/m)
})
