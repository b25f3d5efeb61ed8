import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Value, ValueErrorType } from '@sinclair/typebox/value'

const Text = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, must: `be a text of 1 to ${maxLength} characters` })

/** Describes an OpenID provider of the installation (docs/operators/sign-in.md#providers). */
const Provider = Type.Object(
  {
    id: Type.String({
      maxLength: 32,
      pattern: '^[a-z0-9-]{1,32}$',
      must: 'be 1 to 32 small letters, digits and hyphens',
    }),
    name: Text(60),
    issuer: Type.String({
      maxLength: 500,
      pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1)[:/])[^\\s?#]+$',
      must: 'be a URL with https, or with http on this machine, without ? and #',
    }),
    client_id: Text(500),
    client_secret: Text(2_000),
    tenants: Type.Array(Type.String({ maxLength: 63, pattern: isTenantId.source, must: 'be the id of a company' }), {
      minItems: 1,
      maxItems: 1_000,
      must: 'be a list of the ids of 1 to 1000 companies',
    }),
    /** Says whom it signs in: members of staff, or the people of merchants. */
    for: Type.Union([Type.Literal('staff'), Type.Literal('merchants')], { must: 'be staff or merchants' }),
    scope: Type.Optional(Type.String({ maxLength: 500, pattern: '\\bopenid\\b', must: 'be a text with openid' })),
    groups_claim: Type.Optional(Text(100)),
    /** True takes its e-mail addresses as verified, such as those of a directory of the company. */
    trust_email: Type.Optional(Type.Boolean({ must: 'be true or false' })),
  },
  { additionalProperties: false, must: 'be an object' },
)
const Providers = Type.Array(Provider, { maxItems: 100, must: 'be a list of at most 100 providers' })
export type Provider = Static<typeof Provider>

/** Reads SIGN_IN_PROVIDERS, which `findProvidersProblem` found right. */
export const readProviders = (text: string | undefined): Provider[] => (text === undefined ? [] : JSON.parse(text))

/** Says what is wrong with each field of the setting, without showing a secret. */
export const findProvidersProblem = (text: string): string | undefined => {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return 'SIGN_IN_PROVIDERS is not JSON'
  }
  const problems = new Map<string, string>()
  for (const { path, schema, type } of Value.Errors(Providers, given)) {
    const [, index, ...field] = path.split('/')
    const name = ['SIGN_IN_PROVIDERS', index && `[${index}]`, ...field.map(part => `.${part}`)].join('')
    const isUnknown = type === ValueErrorType.ObjectAdditionalProperties
    if (!problems.has(name))
      problems.set(name, `${name} ${isUnknown ? 'is no field of a provider' : `must ${schema.must}`}`)
  }
  if (problems.size > 0) return [...problems.values()].slice(0, 20).join('; ')
  const ids = (given as Provider[]).map(({ id }) => id)
  const twice = ids.find((id, index) => ids.indexOf(id) < index)
  return twice === undefined ? undefined : `SIGN_IN_PROVIDERS has two providers with the id ${twice}`
}
