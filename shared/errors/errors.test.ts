import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { buildServer } from '../test/server.ts'
import { errorResponses, errorStatuses, invalid } from './errors.ts'

t.test('docs/merchants/errors.md lists exactly the codes with their statuses', async t => {
  const page = readFileSync(new URL('../../docs/merchants/errors.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)])
  t.same(Object.fromEntries(listed), errorStatuses)
  t.equal(listed.length, Object.keys(errorStatuses).length)
})

const start = async (t: Test) => {
  const app = await buildServer(t)
  const response = { 200: Type.Object({}), ...errorResponses(422) }
  app.get('/wrong', { schema: { response } }, async () => {
    throw invalid({ cod: ['The cod field is required.'] })
  })
  return app
}

t.test('errors of @fastify/sensible get the code that belongs to their status, in the usual body', async t => {
  const app = await start(t)
  app.get('/absent', async (_request, reply) => reply.notFound('There is no such message.'))
  app.get('/refused', async () => app.assert(false, 403, 'Forbidden.'))
  app.get('/broken', async () => {
    throw app.httpErrors.badGateway('10.0.0.7 refused')
  })
  const read = async (url: string) => (await app.inject(url)).json()
  t.same(await read('/absent'), { message: 'There is no such message.', code: 'not_found' })
  t.same(await read('/refused'), { message: 'Forbidden.', code: 'forbidden' })
  t.match(await read('/broken'), { message: /^Something went wrong/, code: 'internal_error' })
})

t.test('an error body has its code besides message and errors', async t => {
  const app = await start(t)
  const wrong = await app.inject('/wrong')
  t.equal(wrong.statusCode, 422)
  t.same(wrong.json(), {
    message: 'The given data was invalid.',
    code: 'validation_failed',
    errors: { cod: ['The cod field is required.'] },
  })
  t.same((await app.inject('/nothing')).json(), {
    message: 'There is nothing at this address.',
    code: 'not_found',
  })
})

t.test('a client that accepts application/problem+json gets the same error as RFC 9457', async t => {
  const app = await start(t)
  const headers = { accept: 'application/problem+json, application/json' }
  const wrong = await app.inject({ url: '/wrong', headers })
  t.equal(wrong.statusCode, 422)
  t.match(wrong.headers['content-type'], /^application\/problem\+json/)
  t.same(wrong.json(), {
    type: 'urn:courier:error:validation_failed',
    title: 'The given data was invalid.',
    status: 422,
    code: 'validation_failed',
    errors: { cod: ['The cod field is required.'] },
  })
  t.match((await app.inject({ url: '/nothing', headers })).json(), { code: 'not_found', status: 404 })
})
