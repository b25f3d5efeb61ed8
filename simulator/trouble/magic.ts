import { errorTable } from '../graph/error-table.ts'
import type { Course, StatusStep, Trouble } from './trouble.ts'

/** A number ends in 9 or 8 and six digits to be magic, so that numbers counted up or made at random hardly ever are. */
const ending = /([89])(\d{6})$/

const course = (words: StatusStep['status'][], more: Partial<Course> = {}): Course => ({
  kind: 'course',
  statuses: words.map(status => ({ status })),
  ...more,
})

const answers: Record<string, Trouble> = {
  990001: { kind: 'lost', accepted: true },
  990002: { kind: 'lost', accepted: false },
  990003: { kind: 'half', accepted: true },
  990004: { kind: 'html', accepted: false },
  990005: { kind: 'empty', accepted: false },
  990006: { kind: 'html', accepted: true },
}

const held = { message_status: 'held_for_quality_assessment' } as const

const courses: Record<string, Course> = {
  990000: course([]),
  990001: course(['sent']),
  990002: course(['sent', 'delivered']),
  990003: course(['sent', 'read']),
  990004: course(['sent', 'delivered', 'read'], { copies: 2 }),
  990005: course(['sent', 'delivered', 'read'], { disorder: true }),
  990006: course(['sent', 'delivered', 'read'], held),
  990007: { ...course([], held), statuses: [{ status: 'failed', code: 132015 }] },
  990008: { ...course([]), statuses: [{ status: 'failed', code: 131026 }, { status: 'delivered' }] },
}

/** The trouble that a recipient stands for, as the README lists; undefined for an ordinary one. */
export const magicTrouble = (recipientDigits: string): Trouble | undefined => {
  const [, marker, digits = ''] = ending.exec(recipientDigits) ?? []
  if (marker === undefined) return undefined
  const code = Number(digits)
  const isCode = errorTable[code] !== undefined
  if (marker === '8') return isCode ? { ...course([]), statuses: [{ status: 'failed', code }] } : courses[digits]
  return isCode ? { kind: 'error', code } : (answers[digits] ?? timed(digits))
}

const timed = (digits: string): Trouble | undefined => {
  const amount = Number(digits.slice(3))
  switch (digits.slice(0, 3)) {
    case '991':
      return { kind: 'slow', seconds: amount }
    case '992':
      return { kind: 'error', code: 130429, http_status: 429, retry_after_seconds: amount }
    case '993':
      return { kind: 'error', code: 80007, http_status: 429, regain_minutes: amount }
  }
}
