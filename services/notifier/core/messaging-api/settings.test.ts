import t from 'tap'
import { baseUrlProblem } from './settings.ts'

const compose = ['simulator']

t.test('accepts https anywhere, and plain http on loopback and in compose', async t => {
  const fine = [
    'https://graph.facebook.com',
    'https://graph.facebook.com/base/',
    'http://localhost:3002',
    'http://127.0.0.1:3002',
    'http://127.8.9.1',
    'http://[::1]:3002',
    'http://simulator:3002',
    'HTTP://LOCALHOST',
  ]
  for (const url of fine) t.equal(baseUrlProblem(url, compose), undefined, url)
})

t.test('refuses everything else, without repeating the given address', async t => {
  const wrong: [string, RegExp][] = [
    ['', /must be a URL/],
    ['graph.facebook.com', /must be a URL/],
    ['ftp://graph.facebook.com', /must be an https URL/],
    ['file:///etc/passwd', /must be an https URL/],
    ['http://graph.facebook.com', /must be https/],
    ['http://simulator.evil.example', /must be https/],
    ['http://127.0.0.1.evil.example', /must be https/],
    ['http://localhost.evil.example', /must be https/],
    ['http://10.0.0.1', /must be https/],
    ['http://0.0.0.0', /must be https/],
    ['http://[::ffff:7f00:1]', /must be https/],
    ['https://user:secret@graph.facebook.com', /no user name/],
    ['https://graph.facebook.com/?access_token=secret', /no query/],
    ['https://graph.facebook.com/#x', /no query/],
  ]
  for (const [url, problem] of wrong) {
    const got = baseUrlProblem(url, compose) ?? ''
    t.match(got, problem, url)
    t.notMatch(got, /secret|evil/)
  }
  t.match(baseUrlProblem('http://simulator:3002'), /must be https/)
})
