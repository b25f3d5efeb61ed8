import { hash } from 'node:crypto'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, retryDeadlocks } from '@courier/shared/postgres/database.ts'
import type { Tables, Tx } from '../../core/database/tables.ts'
import { type ActOptions, perform, type Refusal, type Work } from './acts.ts'
import { insertProofs, readProofs } from './proofs.ts'
import type { Act, ActOutcome } from './schema.ts'

interface StoredAct {
  readonly fingerprint: Buffer
  readonly code: ActOutcome['code']
  readonly message: string | null
}

/** Is true for work of somebody whose account ended: it is kept for the office, and nothing is done. */
type Sent = Work & { readonly isEnded?: boolean }

/** Applies acts in order, each in a transaction of its own. */
export const runActs = async (
  options: ActOptions,
  sender: Omit<Sent, 'act'>,
  acts: readonly Act[],
): Promise<ActOutcome[]> => {
  const outcomes: ActOutcome[] = []
  for (const act of acts) outcomes.push(await runAct(options, { ...sender, act }))
  return outcomes
}

/** Applies an act in a transaction of its own, once for its id, and stores what became of it. */
const runAct = (options: ActOptions, sent: Sent): Promise<ActOutcome> =>
  retryDeadlocks(() => inTenant<Tables, ActOutcome>(options.pool, sent.tenant, tx => runOnce(tx, options, sent)))

const runOnce = async (tx: Tx, options: ActOptions, sent: Sent): Promise<ActOutcome> => {
  const { tenant, rider, act, by } = sent
  const fingerprint = hash('sha256', JSON.stringify(act), 'buffer')
  await tx.client.query(lockActSql, [tenant, `act ${rider.id} ${act.id}`])
  const [stored] = await tx.rows<StoredAct>(findActSql, [tenant, rider.id, act.id])
  if (stored) return replay(act, stored, fingerprint)
  const proofs = readProofs(act)
  await tx.client.query('savepoint act')
  const refusal: Refusal | undefined = sent.isEnded
    ? { code: 'deactivated', message: `The account of ${rider.name} was deactivated.` }
    : 'code' in proofs
      ? proofs
      : await perform(tx, options, sent)
  await tx.client.query(refusal ? 'rollback to savepoint act' : 'release savepoint act')
  const actNo = await insertAct(tx, sent, fingerprint, refusal)
  if (!('code' in proofs)) await insertProofs(tx, sent, actNo, proofs)
  if (refusal) await audit(tx, tenant, by, 'act.refused', `${act.waybill_number} ${refusal.code}`)
  return describe(act, refusal?.code ?? null, refusal?.message ?? null, false)
}

/** Holds the lock on the tenant's node of Citus. Whoever waits sees in the next statement what the holder stored. */
const lockActSql = `
  select pg_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 58)) from tenants where tenant_id = $1`

const findActSql = `
  select fingerprint, code, message from rider_acts where tenant_id = $1 and rider_id = $2::bigint and act_id = $3`

const replay = (act: Act, { fingerprint, code, message }: StoredAct, given: Buffer): ActOutcome =>
  fingerprint.equals(given)
    ? describe(act, code, message, true)
    : describe(act, 'reused', 'This id came before with another content.', true)

const describe = (act: Act, code: ActOutcome['code'], message: string | null, replayed: boolean): ActOutcome => ({
  id: act.id,
  outcome: code === null ? 'done' : 'refused',
  code,
  message,
  replayed,
})

/** Stores an act without its images and without the code that the recipient said. */
const insertAct = async (tx: Tx, { tenant, rider, act }: Work, fingerprint: Buffer, refusal: Refusal | undefined) => {
  const { id, kind, waybill_number, happened_at, proof, ...fields } = act
  const kept = JSON.stringify({ ...fields, ...(proof?.without && { without: proof.without }) })
  const about = [tenant, rider.id, id, waybill_number, kind, fingerprint, kept, new Date(happened_at)]
  const [row] = await tx.rows<{ act_no: string }>(insertSql, [...about, refusal?.code, refusal?.message])
  return row?.act_no ?? ''
}

const insertSql = `
  insert into rider_acts (tenant_id, rider_id, act_id, waybill_number, kind, fingerprint, fields, happened_at, code,
    message, received_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now()) returning act_no`
