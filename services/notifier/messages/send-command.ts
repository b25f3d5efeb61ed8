import { UsageError } from '@courier/shared/cli/command-line.ts'
import { requireTenant } from '@courier/shared/cli/token-commands.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList, validationErrors } from '@courier/shared/errors/field-errors.ts'
import { type Actor, operator } from '@courier/shared/postgres/audit.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { acceptBodies, type WaybillDependencies } from './about-waybill.ts'
import { type Accepted, MessageBody } from './schema.ts'

/** The options of `notifier send`. */
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

const check = TypeCompiler.Compile(MessageBody)

/**
 * Queues a message as `POST /api/messages` does. Throws UsageError for an unknown tenant, and when orders is needed and
 * unavailable.
 */
export const sendMessage = async (
  dependencies: WaybillDependencies,
  request: SendRequest,
  by: Actor = operator(),
): Promise<{ kind: 'queued'; message: Accepted } | { kind: 'refused'; errors: FieldErrors }> => {
  const body = bodyOf(request)
  if (!check.Check(body)) return { kind: 'refused', errors: validationErrors(check, body) }
  await requireTenant(dependencies.pool, request.tenant)
  const result = await acceptBodies(dependencies, request.tenant, [body], new ErrorList(), () => '', undefined, by)
  if (result.kind === 'refused') return { kind: 'refused', errors: result.errors.errors }
  const message = result.kind === 'accepted' ? result.messages[0] : undefined
  if (!message)
    throw new UsageError('orders cannot be asked about the waybill: start it, or look at ORDERS_URL and SERVICE_TOKEN')
  return { kind: 'queued', message }
}

const bodyOf = ({ to, waybill, channel, template, language, header, body = [] }: SendRequest): unknown => {
  const component = (type: string, texts: readonly string[]) =>
    texts.length > 0 ? [{ type, parameters: texts.map(text => ({ type: 'text', text })) }] : []
  const components = [...component('header', header === undefined ? [] : [header]), ...component('body', body)]
  return {
    to,
    waybill_number: waybill,
    channel,
    template: { name: template, language: { code: language }, components },
  }
}
