import t from 'tap'
import { findMissingFixes, findStaleTable } from './security-fixes.ts'

t.test('a version older than the newest security release of its line is named with what it lacks', async t => {
  t.match(findMissingFixes('Node', '24.21.0'), /^Node 24\.21\.0 lacks the security fixes of 24\.22\.1 \(CVE-/)
  t.match(findMissingFixes('Node', '26.9.0'), /26\.12\.1/)
  t.match(findMissingFixes('Postgres', '18.4 (Debian 18.4-1.pgdg12+1)'), /^Postgres 18\.4 .* lacks .* 18\.7/)
  t.match(findMissingFixes('Node', '25.8.2'), /gets no security fixes/)
  t.match(findMissingFixes('Postgres', '17.9'), /gets no security fixes/)
})

t.test('a version with the fixes, and a line newer than the table, are well', async t => {
  for (const version of ['24.22.1', '24.22.3', '24.100.0', '26.12.1', '27.0.0'])
    t.equal(findMissingFixes('Node', version), undefined, version)
  for (const version of ['18.7', '18.10 (Ubuntu)', '19beta2', '19.1'])
    t.equal(findMissingFixes('Postgres', version), undefined, version)
})

t.test('a table older than 90 days says so', async t => {
  t.equal(findStaleTable(new Date('2027-02-26')), undefined)
  t.match(findStaleTable(new Date('2027-02-28')), /^The table of security fixes is of 2026-11-29: upgrade Courier/)
})
