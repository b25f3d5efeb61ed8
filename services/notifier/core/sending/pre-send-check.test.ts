import t from 'tap'
import { claimedMessage } from '../../test/fixture.ts'
import type { ClaimedMessage } from './message.ts'
import { findBlockReason } from './pre-send-check.ts'

const now = new Date('2026-11-21T12:00:00Z')
const hoursAgo = (hours: number): Date => new Date(now.getTime() - hours * 3_600_000)

const message = claimedMessage({ plan: 'free' })
const nothing = { optedOutAt: null, marketingOutAt: null, owner: null, ownerAt: null }
const wrote = (hours: number) => ({ ...nothing, lastInboundAt: hoursAgo(hours) })
const optedOut = { ...wrote(1), optedOutAt: hoursAgo(1) }
const others = { ...wrote(1), owner: 'other' as const, ownerAt: hoursAgo(1) }
const ours = { ...others, owner: 'ours' as const }
const noMarketing = { ...wrote(1), marketingOutAt: hoursAgo(1) }

const table: [string, Partial<ClaimedMessage>, string | undefined][] = [
  ['paid, nobody wrote', { plan: 'paid' }, undefined],
  ['paid, opted out', { plan: 'paid', conversation: optedOut }, 'cancelled'],
  ['paid, opted out, about a parcel under way', { plan: 'paid', conversation: optedOut, isExempt: true }, undefined],
  ['marketing, opted out of it', { conversation: noMarketing, isMarketing: true }, 'cancelled'],
  ['exempt marketing, opted out of it', { conversation: noMarketing, isMarketing: true, isExempt: true }, 'cancelled'],
  ['utility, opted out of marketing', { conversation: noMarketing }, undefined],
  ['paid, template held', { plan: 'paid', isTemplateHeld: true }, 'deferred'],
  ['superseded', { plan: 'paid', supersededBy: 'superseded by key_13' }, 'cancelled'],
  ['free, nobody wrote', {}, 'failed'],
  ['free, nobody wrote, may be held', { holdsUntilOpen: true }, 'held'],
  ['free, written 23 hours ago', { conversation: wrote(23) }, undefined],
  ['free, written 24 hours ago to the millisecond', { conversation: wrote(24) }, 'failed'],
  ['free, written 25 hours ago, may be held', { conversation: wrote(25), holdsUntilOpen: true }, 'held'],
  ['free, open, template held', { conversation: wrote(1), isTemplateHeld: true }, 'deferred'],
  ['a text, another responder answers', { template: { text: 'Hello' }, conversation: others }, 'held'],
  ['a text that takes over', { template: { text: 'Hello', takesOver: true }, conversation: others }, undefined],
  ['a text, we answer', { template: { text: 'Hello' }, conversation: ours }, undefined],
  ['a text, unknown who answers', { template: { text: 'Hello' }, conversation: wrote(1) }, undefined],
  ['a template, another responder answers', { conversation: others }, undefined],
  ['free, opted out, may be held', { conversation: optedOut, holdsUntilOpen: true }, 'cancelled'],
]
for (const [what, more, expected] of table)
  t.test(`the block reason is ${expected ?? 'absent'} for: ${what}`, async t => {
    t.equal(findBlockReason({ ...message, ...more }, now)?.kind, expected)
  })
