import type { PhoneNumber, TokenInfo } from '../messaging-api/account-responses.ts'
import { type Scope, scopeName, wordRefusal } from '../messaging-api/classify.ts'
import type { Failed, Received } from '../messaging-api/responses.ts'

type Read<Value> = Received<Value> | Failed

/** Returns true if the token has the scope; the start of a scope's name depends on the product. */
export const holdsScope = ({ scopes }: TokenInfo, scope: Scope): boolean =>
  scopes.some(name => name.endsWith(`_business_${scope}`))

const mayOnlySend = (token: TokenInfo): boolean =>
  token.is_valid && holdsScope(token, 'messaging') && !holdsScope(token, 'management')

/** Judges a channel as docs/contributors/messaging-api.md#numbers-and-tokens says. Problems keep it from sending. */
export const judge = (number: Read<PhoneNumber>, token: Read<TokenInfo>, wabaId: string | null, now: Date) => {
  const verdicts = [judgeNumber(number, token), judgeToken(token, wabaId, now)]
  return {
    problems: verdicts.flatMap(({ problems }) => problems),
    warnings: verdicts.flatMap(({ warnings }) => warnings),
  }
}

/** Lists what keeps a number or a token from sending, and what may later. */
export interface Verdict {
  readonly problems: string[]
  readonly warnings: string[]
}

export const judgeNumber = (number: Read<PhoneNumber>, token: Read<TokenInfo>): Verdict => {
  const verdict: Verdict = { problems: [], warnings: [] }
  if (number.kind === 'received') addNumberProblems(number.value, verdict)
  else if (number.kind !== 'refused' || token.kind !== 'received' || !mayOnlySend(token.value))
    verdict.problems.push(`The number could not be read. ${wordFailure(number)}`)
  return verdict
}

export const judgeToken = (token: Read<TokenInfo>, wabaId: string | null, now: Date): Verdict => {
  const verdict: Verdict = { problems: [], warnings: [] }
  if (token.kind === 'received') addTokenProblems(token.value, wabaId, now, verdict)
  else verdict.problems.push(`The access token could not be read. ${wordFailure(token)}`)
  return verdict
}

export const wordFailure = (failed: Failed): string =>
  failed.kind === 'refused'
    ? wordRefusal(failed)
    : `The messaging API did not respond (${failed.reason}): run the check again.`

const addNumberProblems = (number: PhoneNumber, { problems, warnings }: Verdict): void => {
  const { status, can_send_message, health_problems, quality_rating } = number
  const reported = health_problems.length > 0 ? ` The API says: ${health_problems.join(' ')}` : ''
  if (status !== null && status !== 'CONNECTED')
    problems.push(`The number is ${status}, not CONNECTED, so it cannot send: register it, or see the business suite.`)
  if (can_send_message === 'BLOCKED')
    problems.push(`The API blocks the number: resolve the problem in the business suite.${reported}`)
  if (can_send_message === 'LIMITED') warnings.push(`The API limits what the number sends.${reported}`)
  if (quality_rating === 'RED')
    warnings.push('The quality of the number is RED: send fewer messages, and only those that customers want.')
}

const addTokenProblems = (
  token: TokenInfo,
  wabaId: string | null,
  now: Date,
  { problems, warnings }: Verdict,
): void => {
  const { is_valid: isValid, expires_at: end, accounts } = token
  if (!isValid) problems.push('The access token is expired, invalid or revoked: store a new one.')
  if (end && end <= now.toISOString()) problems.push(`The access token expired at ${end}.`)
  else if (end) warnings.push(`The access token expires at ${end}: before then, store one that never expires.`)
  if (isValid && !holdsScope(token, 'messaging'))
    problems.push(
      `The access token lacks the scope ${scopeName('messaging')}: generate one with both scopes of the setup.`,
    )
  if (isValid && !holdsScope(token, 'management'))
    warnings.push(
      `The access token lacks the scope ${scopeName('management')}: it sends, but can neither sync templates nor read the number.`,
    )
  if (wabaId !== null && accounts.length > 0 && !accounts.includes(wabaId))
    problems.push(`The access token is not for account ${wabaId}: correct waba_id, or assign the account to its user.`)
  if (wabaId === null)
    warnings.push(`The channel has no waba_id, so its templates cannot be synced.${hint([...new Set(accounts)])}`)
}

const hint = (accounts: string[]): string =>
  accounts.length === 1 ? ` Its token is for account ${accounts[0]}: set waba_id to it.` : ' Set its account id.'
