import type { CourierEvent } from '@courier/shared/contract/order-events.ts'
import { type ErrorCode, errorStatuses } from '@courier/shared/errors/errors.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { inSpans, type Tracer } from '@courier/shared/traces.ts'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

export interface PostOptions {
  readonly notifier: ServiceClient
  readonly tracer?: Tracer | undefined
}

export type PostFailure =
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The events wait until the notifier's file of the tenant is applied. */
  | { readonly kind: 'unknown_tenant' }
  /** The notifier's response was no acknowledgement. */
  | { readonly kind: 'refused'; readonly status: number }

/** Delivers events to the notifier, in one request. undefined: it acknowledged them. */
export const postEvents = (options: PostOptions, tenant: string, events: readonly CourierEvent[]) =>
  inSpans(options.tracer, 'outbox.post', 'producer', events, traced => postTraced(options.notifier, tenant, traced))

/** A server that responds 200 to everything is not the notifier. */
const Acknowledgement = Type.Object({
  data: Type.Object({ taken: Type.Integer(), repeated: Type.Integer(), expired: Type.Integer() }),
})
const UnknownTenant = Type.Object({ code: Type.Literal('unknown_tenant' satisfies ErrorCode) })

const postTraced = async (
  notifier: ServiceClient,
  tenant: string,
  events: readonly CourierEvent[],
): Promise<PostFailure | undefined> => {
  const response = await notifier.post('/internal/events', { tenant, events }, commonTrace(events))
  if (response.kind === 'unreachable') return response
  const { status, body } = response
  if (status === errorStatuses.unknown_tenant && Value.Check(UnknownTenant, body)) return { kind: 'unknown_tenant' }
  if (status !== 200 || !Value.Check(Acknowledgement, body)) return { kind: 'refused', status }
  return undefined
}

/** Returns the trace that all events share, for the request itself. */
const commonTrace = ([first, ...others]: readonly CourierEvent[]): string | undefined =>
  others.every(({ traceparent }) => traceparent === first?.traceparent) ? first?.traceparent : undefined
