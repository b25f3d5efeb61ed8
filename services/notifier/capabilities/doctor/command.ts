import { print, printJson, UsageError } from '@courier/shared/cli/command-line.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { Type } from '@sinclair/typebox'
import type { Connections } from '../../capability.ts'
import { readChannels } from '../../core/channels/view.ts'
import type { Tx } from '../../core/database/tables.ts'
import { createMessagingApi } from '../../core/messaging-api/client.ts'
import { messagingSettings } from '../../core/messaging-api/settings.ts'
import { type DoctorDependencies, diagnose, subscribe } from './diagnose.ts'
import type { Line } from './lines.ts'

export interface DoctorRequest {
  readonly tenant: string
  /** Is a phone number id; without it, all numbers of the tenant are diagnosed. */
  readonly channel?: string
  readonly fix?: boolean
  readonly json?: boolean
}

/** Runs the command. Returns true if no line is wrong. */
export const doctor = async ({ withKeyring }: Connections, request: DoctorRequest): Promise<boolean> => {
  const known = loadConfigOrExit(Type.Object(messagingSettings), process.env)
  const api = createMessagingApi({
    baseUrl: known.MESSAGING_API_URL,
    version: known.MESSAGING_API_VERSION,
    product: known.MESSAGING_PRODUCT,
  })
  return withKeyring((pool, keyring) =>
    runDoctor({ pool, keyring, api, publicUrl: known.PUBLIC_URL }, request),
  ).finally(() => api.close())
}

/** Diagnoses the numbers of a tenant and prints the lines. Throws UsageError. */
const runDoctor = async (dependencies: DoctorDependencies, request: DoctorRequest): Promise<boolean> => {
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
