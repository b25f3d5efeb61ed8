import { print, printJson, UsageError } from '@courier/shared/cli/command-line.ts'
import { operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { readChannels } from '../../core/channels/view.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type DoctorDependencies, diagnose, subscribe } from './diagnose.ts'
import type { Line } from './lines.ts'

export interface DoctorRequest {
  readonly tenant: string
  /** Is a phone number id; without it, all numbers of the tenant are diagnosed. */
  readonly channel?: string
  readonly fix?: boolean
  readonly json?: boolean
}

/** Diagnoses the numbers of a tenant and prints the lines. Returns true if no line is wrong. Throws UsageError. */
export const runDoctor = async (dependencies: DoctorDependencies, request: DoctorRequest): Promise<boolean> => {
  const { tenant, channel, fix = false, json = false } = request
  const channels = await inTenant(dependencies.pool, tenant, (tx: Tx) => readChannels(tx, tenant, channel))
  if (channels.length === 0) throw new UsageError(`tenant ${tenant} has no channel${channel ? ` ${channel}` : 's'}`)
  const found = []
  for (const { phone_number_id, name } of channels)
    found.push({ phone_number_id, name, lines: await diagnoseAndFix(dependencies, tenant, phone_number_id, fix) })
  if (json) printJson(found)
  else for (const { phone_number_id, name, lines } of found) print(writeLines(`${name} (${phone_number_id})`, lines))
  return found.every(({ lines }) => lines.every(({ state }) => state !== 'wrong'))
}

const diagnoseAndFix = async (
  dependencies: DoctorDependencies,
  tenant: string,
  id: string,
  fix: boolean,
): Promise<Line[]> => {
  const lines = (await diagnose(dependencies, tenant, id)) ?? []
  if (!fix || !lines.some(({ check, state }) => check === 'subscription' && state === 'wrong')) return lines
  const result = await subscribe(dependencies, tenant, id, operator())
  if (result?.kind === 'refused') throw new UsageError(`the subscription was refused: ${result.reason}`)
  return (await diagnose(dependencies, tenant, id)) ?? []
}

const marks = { ok: 'ok', warning: 'warning', wrong: 'WRONG' } as const

const writeLines = (title: string, lines: readonly Line[]): string =>
  [title, ...lines.map(({ check, state, text }) => `  ${marks[state].padEnd(7)}  ${check.padEnd(12)}  ${text}`)].join(
    '\n',
  )
