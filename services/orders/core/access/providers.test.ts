import t from 'tap'
import { findProvidersProblem } from './providers.ts'

const right = {
  id: 'google',
  name: 'Google',
  issuer: 'https://accounts.google.com',
  client_id: 'a-client',
  client_secret: 'a-private-word',
  tenants: ['demo'],
  for: 'staff',
}
const find = (...changes: object[]) =>
  findProvidersProblem(JSON.stringify(changes.map(each => ({ ...right, ...each }))))

t.test('right providers have no problem', async t => {
  t.equal(
    find({}, { id: 'people', for: 'merchants', trust_email: true, scope: 'openid email', groups_claim: 'g' }),
    undefined,
  )
  for (const issuer of ['http://localhost:8080/realms/x', 'http://127.0.0.1:9'])
    t.equal(find({ issuer }), undefined, issuer)
})

t.test('each wrong field has a sentence, and none shows a secret', async t => {
  const table: [change: object, sentence: RegExp][] = [
    [{ id: 'Google!' }, /^SIGN_IN_PROVIDERS\[1\]\.id must be 1 to 32 small letters, digits and hyphens$/],
    [{ name: '' }, /\.name must be a text of 1 to 60 characters/],
    [{ issuer: 'http://accounts.example' }, /\.issuer must be a URL with https, or with http on this machine/],
    [{ issuer: 'https://x.example?y' }, /\.issuer must/],
    [{ issuer: 'http://localhost.evil.example' }, /\.issuer must/],
    [{ client_id: undefined }, /\.client_id must be a text/],
    [{ client_secret: ['a-private-word'] }, /\.client_secret must be a text/],
    [{ tenants: [] }, /\.tenants must be a list of the ids/],
    [{ tenants: ['Demo Couriers'] }, /\.tenants\.0 must be the id of a company/],
    [{ for: 'riders' }, /\.for must be staff or merchants/],
    [{ scope: 'email' }, /\.scope must be a text with openid/],
    [{ trust_email: 'yes' }, /\.trust_email must be true or false/],
    [{ clientsecret: 'a-private-word' }, /\[1\]\.clientsecret is no field of a provider/],
    [{ name: '', for: 'x' }, /\.name must.*; SIGN_IN_PROVIDERS\[1\]\.for must/],
  ]
  for (const [change, sentence] of table) {
    const found = find({ id: 'first' }, change)
    t.match(found, sentence, JSON.stringify(change))
    t.notMatch(found, /a-private-word|undefined/)
  }
  t.match(find({}, {}), /two providers with the id google/)
  t.match(findProvidersProblem('{}'), /^SIGN_IN_PROVIDERS must be a list of at most 100 providers$/)
  t.match(findProvidersProblem('[3]'), /^SIGN_IN_PROVIDERS\[0\] must be an object$/)
  t.match(findProvidersProblem('x'), /is not JSON/)
})
