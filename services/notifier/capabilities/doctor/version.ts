/**
 * Lists the last day of each version whose end the platform had announced by 29 November 2026
 * (docs/contributors/messaging-api.md#versions).
 */
const lastDays: Readonly<Record<string, string>> = {
  'v21.0': '2027-01-21',
  'v22.0': '2027-05-20',
  'v23.0': '2027-10-08',
  'v24.0': '2028-02-18',
  'v25.0': '2028-07-29',
}
/** Names the newest version, without a known end, for the advice to those on an older one. */
const current = 'v27.0'
const warnDays = 90

/** Words the version in force: the API serves a request of an ended version by the oldest one that is left. */
export const judgeVersion = (asked: string, served: string | null, now: Date): { isLate: boolean; text: string } => {
  if (served === null) return { isLate: false, text: `${asked} is set; the API did not say which version it served.` }
  const end = lastDays[served]
  const isLate = end !== undefined && Date.parse(end) - now.getTime() < warnDays * 86_400_000
  const serves = asked === served ? `${asked} is set and served` : `${asked} is set, and the API serves it as ${served}`
  const advice = isLate ? ` Set MESSAGING_API_VERSION=${current} and start the notifier again.` : ''
  return { isLate, text: `${serves}${end === undefined ? '' : `, which ends on ${end}`}.${advice}` }
}
