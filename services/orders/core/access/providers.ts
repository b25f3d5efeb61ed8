import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** Describes an OpenID provider of the installation (docs/operators/sign-in.md#providers). */
const Provider = Type.Object(
  {
    id: Type.String({ maxLength: 32, pattern: '^[a-z0-9-]{1,32}$' }),
    name: Type.String({ minLength: 1, maxLength: 60 }),
    issuer: Type.String({ maxLength: 500, pattern: '^https?://[^\\s?#]+$' }),
    client_id: Type.String({ minLength: 1, maxLength: 500 }),
    client_secret: Type.String({ minLength: 1, maxLength: 2_000 }),
    tenants: Type.Array(Type.String({ maxLength: 63, pattern: isTenantId.source }), { minItems: 1, maxItems: 1_000 }),
    /** Says whom it signs in: members of staff, or the people of merchants. */
    for: Type.Union([Type.Literal('staff'), Type.Literal('merchants')]),
    scope: Type.Optional(Type.String({ maxLength: 500 })),
    groups_claim: Type.Optional(Type.String({ maxLength: 100 })),
    /** True takes its e-mail addresses as verified, such as those of a directory of the company. */
    trust_email: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
const Providers = Type.Array(Provider, { maxItems: 100 })
export type Provider = Static<typeof Provider>

/** Reads SIGN_IN_PROVIDERS, which `findProvidersProblem` found right. */
export const readProviders = (text: string | undefined): Provider[] => (text === undefined ? [] : JSON.parse(text))

/** Says what is wrong with the setting, without showing a secret. */
export const findProvidersProblem = (text: string): string | undefined => {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return 'SIGN_IN_PROVIDERS is not JSON'
  }
  const [error] = Value.Errors(Providers, given)
  if (error) return `SIGN_IN_PROVIDERS is wrong at ${error.path || '/'}`
  const ids = (given as Provider[]).map(({ id }) => id)
  if (new Set(ids).size < ids.length) return 'SIGN_IN_PROVIDERS has two providers with one id'
  const isPlain = ({ issuer }: Provider) =>
    issuer.startsWith('http:') && !/^http:\/\/(localhost|127\.0\.0\.1)[:/]/.test(issuer)
  return (given as Provider[]).some(isPlain) ? 'SIGN_IN_PROVIDERS has an issuer without https' : undefined
}
