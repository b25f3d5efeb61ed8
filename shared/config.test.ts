import { Type } from '@sinclair/typebox'
import t from 'tap'
import { ConfigError, LogLevel, loadConfig, Port, PositiveInteger, PostgresUrl } from './config.ts'

const Settings = Type.Object({
  DATABASE_URL: PostgresUrl('the database'),
  REPLICA_URL: Type.Optional(PostgresUrl('a second database')),
  HOST: Type.String({ default: '127.0.0.1', description: 'the address' }),
  PORT: Port(3000, 'the port'),
  LOG_LEVEL: LogLevel,
  ORDERS: PositiveInteger(1000, 'how many orders', 5000),
})

const url = 'postgres://orders:courier@127.0.0.1:5432/orders'

const mustBeUrl = 'be a postgres:// address of one host: a DNS name, HAProxy or PgBouncer that leads to the primary'

const listErrors = (environment: Record<string, string | undefined>): string[] => {
  try {
    return [`no error: ${JSON.stringify(loadConfig(Settings, environment))}`]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

t.test('a variable that is not set has its default, or is absent where there is none', async t => {
  const settings = loadConfig(Settings, { DATABASE_URL: url })
  t.strictSame(settings, { DATABASE_URL: url, HOST: '127.0.0.1', PORT: 3000, LOG_LEVEL: 'info', ORDERS: 1000 })
})

t.test('text is converted to the type of the schema, without surrounding white space', async t => {
  const environment = { DATABASE_URL: ` ${url} `, REPLICA_URL: url, PORT: ' 0 ', ORDERS: '5000', LOG_LEVEL: 'silent' }
  t.strictSame(loadConfig(Settings, environment), {
    DATABASE_URL: url,
    REPLICA_URL: url,
    HOST: '127.0.0.1',
    PORT: 0,
    LOG_LEVEL: 'silent',
    ORDERS: 5000,
  })
})

t.test('variables that the schema does not name are left out', async t => {
  t.notOk('HOME' in loadConfig(Settings, { DATABASE_URL: url, HOME: '/root' }))
})

t.test('an empty variable counts as missing', async t => {
  for (const empty of ['', '   ', undefined]) {
    t.same(listErrors({ DATABASE_URL: empty }), ['DATABASE_URL is missing: the database'])
    t.equal(loadConfig(Settings, { DATABASE_URL: url, PORT: empty }).PORT, 3000)
    t.notOk('REPLICA_URL' in loadConfig(Settings, { DATABASE_URL: url, REPLICA_URL: empty }))
  }
})

t.test('one error names all bad and missing variables, one per line', async t => {
  const errors = listErrors({ REPLICA_URL: 'mysql://there', PORT: 'http', LOG_LEVEL: 'loud', ORDERS: '5001' })
  t.strictSame(errors.toSorted(), [
    'DATABASE_URL is missing: the database',
    'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "loud" (how much is logged)',
    'ORDERS must be a whole number, 1 to 5000, not 5001 (how many orders)',
    'PORT must be a port number, 0 to 65535, not "http" (the port)',
    `REPLICA_URL must ${mustBeUrl} (a second database)`,
  ])
})

t.test('only digits make a whole number', async t => {
  for (const text of ['3000.7', '1e3', 'true', 'false', '0x10', '-1', '65536', '1_000', 'Infinity'])
    t.match(listErrors({ DATABASE_URL: url, PORT: text }), [/^PORT must be a port number, 0 to 65535, not /], text)
})

t.test('the value of a secret is never shown', async t => {
  for (const secret of ['mysql://orders:s3cret@there', 's3cret', 'postgres://', 'postgres:s3cret'])
    t.strictSame(listErrors({ DATABASE_URL: secret }), [`DATABASE_URL must ${mustBeUrl} (the database)`])
})

t.test('a secret may be in a file, named by NAME_FILE; its last newline is dropped', async t => {
  const folder = t.testdir({ url: `${url}\n`, empty: '\n', wrong: 'mysql://orders:s3cret@there\n' })
  const at = (name: string) => ({ DATABASE_URL_FILE: `${folder}/${name}` })
  t.equal(loadConfig(Settings, at('url')).DATABASE_URL, url)
  t.equal(loadConfig(Settings, { ...at('url'), DATABASE_URL: ' ' }).DATABASE_URL, url)
  t.equal(loadConfig(Settings, { DATABASE_URL: url, DATABASE_URL_FILE: '' }).DATABASE_URL, url)
  t.strictSame(listErrors({ ...at('url'), DATABASE_URL: url }), [
    'DATABASE_URL and DATABASE_URL_FILE are both set: set one of them',
  ])
  t.strictSame(listErrors(at('none')), [`DATABASE_URL_FILE cannot be read: ${folder}/none (ENOENT)`])
  t.strictSame(listErrors(at('empty')), [`DATABASE_URL_FILE names an empty file: ${folder}/empty`])
  t.strictSame(listErrors(at('wrong')), [`DATABASE_URL must ${mustBeUrl} (the database)`])
})

t.test('only a secret may be in a file', async t => {
  t.equal(loadConfig(Settings, { DATABASE_URL: url, HOST_FILE: '/etc/hostname' }).HOST, '127.0.0.1')
})

t.test('a URL that cannot be parsed is invalid', async t => {
  for (const broken of ['postgres://orders:s3cret@there:port/orders', 'postgres://[orders'])
    t.strictSame(listErrors({ DATABASE_URL: broken }), [`DATABASE_URL must ${mustBeUrl} (the database)`])
})

t.test('an address of several hosts, which libpq would try in turn, is refused', async t => {
  const lists = ['orders:s3cret@one,two/orders', 'one:5432,two:5433/orders', 'one/orders?host=two,three', 'u:p@one,two']
  for (const list of [...lists, 'one/orders?sslmode=require&host=a%2Cb'])
    t.strictSame(
      listErrors({ DATABASE_URL: `postgres://${list}` }),
      [`DATABASE_URL must ${mustBeUrl} (the database)`],
      list,
    )
  for (const one of [
    'a,b:c,d@one/orders',
    'one:5432/orders?options=-c%20a%3D1,2',
    '/orders?host=/var/run/postgresql',
    'one',
  ])
    t.equal(loadConfig(Settings, { DATABASE_URL: `postgres://${one}` }).DATABASE_URL, `postgres://${one}`)
})
