import type { AccessToken } from '../accounts/account.ts'
import { faultOf } from '../accounts/caller.ts'
import { GraphError } from '../graph/errors.ts'
import { demoAppId } from './fields.ts'

/** What is known of a token (messaging-api 7). `now` in milliseconds. */
export const describeToken = (token: AccessToken | undefined, now: number): object => {
  if (!token) return { data: { error: errorOf(new GraphError(190)), is_valid: false, scopes: [] } }
  const fault = faultOf(token, now)
  return {
    data: {
      app_id: demoAppId,
      type: 'SYSTEM_USER',
      application: 'Courier',
      data_access_expires_at: 0,
      expires_at: token.expires_at,
      is_valid: fault === undefined,
      issued_at: 1767225600,
      scopes: [...token.scopes, 'public_profile'],
      granular_scopes: token.scopes.map(scope => ({ scope, ...(token.target_ids && { target_ids: token.waba_ids }) })),
      user_id: '122100000000000001',
      ...(fault && { error: errorOf(fault) }),
    },
  }
}

const errorOf = ({ code, message, options: { subcode } }: GraphError): object => ({
  code,
  message,
  ...(subcode !== undefined && { subcode }),
})
