import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Actor, operator } from '@courier/shared/postgres/audit.ts'
import { toTexts } from '../messaging-api/message-template.ts'
import { acceptBodies, type WaybillDependencies } from './about-waybill.ts'
import { type AcceptedMessage, readOne } from './schema.ts'

export interface SendRequest {
  tenant: string
  template: string
  language: string
  to?: string
  waybill?: string
  channel?: string
  header?: string
  body?: string[]
}

/** Queues a message as `POST /api/messages` does. Throws UsageError for an unknown tenant or unavailable orders. */
export const sendMessage = async (
  dependencies: WaybillDependencies,
  request: SendRequest,
  by: Actor = operator(),
): Promise<{ kind: 'queued'; message: AcceptedMessage } | { kind: 'refused'; errors: FieldErrors }> => {
  const batch = readOne(toBody(request))
  if (batch.errors.count > 0) return { kind: 'refused', errors: batch.errors.errors }
  await requireTenant(dependencies.pool, request.tenant)
  const result = await acceptBodies(dependencies, request.tenant, batch, { by })
  if (result.kind === 'refused') return { kind: 'refused', errors: result.errors.errors }
  const message = result.kind === 'accepted' ? result.messages[0] : undefined
  if (!message)
    throw new UsageError('orders cannot look up the waybill: start it, or check ORDERS_URL and SERVICE_TOKEN')
  return { kind: 'queued', message }
}

const toBody = ({ to, waybill, channel, template, language, header, body = [] }: SendRequest): unknown => {
  const components = [...toTexts('header', ...(header === undefined ? [] : [header])), ...toTexts('body', ...body)]
  return {
    to,
    waybill_number: waybill,
    channel,
    template: { name: template, language: { code: language }, components },
  }
}
