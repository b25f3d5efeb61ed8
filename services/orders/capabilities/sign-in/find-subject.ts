import { matchNoPassword } from '../../core/access/passwords.ts'
import type { Provider } from '../../core/access/providers.ts'
import { insertStaff } from '../../core/access/staff-commands.ts'
import type { Tx } from '../../core/database/tables.ts'
import { readRules } from './company.ts'
import { type Identity, SignInError } from './provider-client.ts'
import { sides } from './sides.ts'

type Found = { readonly id: string; readonly is_active: boolean }

/**
 * Finds the active person of an identity: by its subject or, the first time, by its verified e-mail. Creates nobody but
 * members of staff whose groups have roles in the company file. Throws a SignInError.
 */
export const findSubject = async (tx: Tx, tenant: string, provider: Provider, identity: Identity): Promise<string> => {
  const { table, column } = sides[provider.for]
  const { issuer, subject, email } = identity
  const known = await tx.rows<Found>(
    `select person.${column}::text as id, is_active from provider_subjects subject
      join ${table} person on person.tenant_id = $1 and person.${column} = subject.${column}
    where subject.tenant_id = $1 and issuer = $2 and subject = $3 and kind = $4`,
    [tenant, issuer, subject, provider.for],
  )
  if (known[0]) return refuseInactive(known[0])
  if (email === undefined) throw new SignInError('unverified')
  const people = await tx.rows<Found>(
    `select ${column}::text as id, is_active from ${table}
    where tenant_id = $1 and email = $2 order by is_active desc limit 1 for update`,
    [tenant, email],
  )
  const id = people[0] ? refuseInactive(people[0]) : await create(tx, tenant, provider, { ...identity, email })
  const others = await tx.rows(
    `select from provider_subjects where tenant_id = $1 and issuer = $2 and kind = $3 and ${column} = $4::bigint
      and subject <> $5`,
    [tenant, issuer, provider.for, id, subject],
  )
  // Somebody else may have the address now: an admin decides.
  if (others.length > 0) throw new SignInError('other_account')
  await tx.client.query(
    `insert into provider_subjects (tenant_id, issuer, subject, kind, ${column}) values ($1, $2, $3, $4, $5::bigint)
      on conflict do nothing`,
    [tenant, issuer, subject, provider.for, id],
  )
  return id
}

const refuseInactive = ({ id, is_active }: Found): string => {
  if (!is_active) throw new SignInError('inactive')
  return id
}

const create = async (
  tx: Tx,
  tenant: string,
  provider: Provider,
  { email, name: given, groups }: Identity & { email: string },
): Promise<string> => {
  const rules = await readRules(tx, tenant)
  const roles = [...new Set(groups.flatMap(group => rules.groups.get(group) ?? []))]
  if (provider.for === 'merchants' || roles.length === 0) throw new SignInError('unknown')
  const name =
    given
      .replace(/\p{Cc}/gu, ' ')
      .trim()
      .slice(0, 100) || email.slice(0, 100)
  const by = { kind: 'operator', name: `provider ${provider.id}` } as const
  const added = await insertStaff(tx, tenant, { email, name, roles, password_hash: matchNoPassword() }, by)
  if ('sentence' in added) throw new SignInError(added.field === 'name' ? 'name_taken' : 'unknown')
  return added.staff_id
}
