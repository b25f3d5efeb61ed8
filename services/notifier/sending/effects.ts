import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { findChannel, pauseChannel, restChannel, slowChannel } from '../channels/queries.ts'
import { findSettings, recordInbound } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import { holdTemplate } from '../templates/queries.ts'
import type { Effect } from './decide.ts'
import type { ClaimedMessage } from './message.ts'
import { slowDown } from './timing.ts'

/** Applies the effects of responses to numbers and templates. Counts denials in this process. */
export const createEffects = (pool: pg.Pool, logger: Logger) => {
  const denials = new Map<string, number>()

  const pause = async (tx: Tx, message: ClaimedMessage, code: number | null, reason: string): Promise<void> => {
    const paused = await pauseChannel(tx, message.tenant, message.phoneNumberId, code, reason)
    if (paused.length > 0) logger.error({ ...ids(message), code, reason }, 'channel.paused')
  }

  const slow = async (tx: Tx, { tenant, phoneNumberId }: ClaimedMessage): Promise<void> => {
    const row = await findChannel(tx, tenant, phoneNumberId)
    if (!row) return
    const { now } = await findSettings(tx, tenant)
    const { rate, budget: tokens, budget_at: at, slowed_rate: slowedRate, slowed_at: slowedAt } = row
    const slowed = slowDown({ rate, tokens, at, slowedRate, slowedAt }, now, Math.random)
    const restSeconds = (slowed.notBefore.getTime() - now.getTime()) / 1000
    await slowChannel(tx, tenant, phoneNumberId, { slowedRate: slowed.slowedRate, restSeconds })
    logger.warn({ tenant, phone_number_id: phoneNumberId, rate: slowed.slowedRate }, 'channel.slowed')
  }

  const carryOut = async (tx: Tx, message: ClaimedMessage, effect: Effect): Promise<void> => {
    const { tenant, phoneNumberId } = message
    switch (effect.kind) {
      case 'pause_channel':
        return pause(tx, message, effect.code, effect.reason)
      case 'slow_channel':
        return slow(tx, message)
      case 'rest_channel':
        logger.warn({ ...ids(message), code: effect.code, seconds: effect.seconds }, 'channel.rests')
        await restChannel(tx, tenant, phoneNumberId, effect.seconds)
        return
      case 'hold_template': {
        if (isPlain(message.template)) return
        const { name, language } = message.template
        logger.warn({ ...ids(message), code: effect.code, template: name }, 'template.held')
        await holdTemplate(tx, tenant, phoneNumberId, name, language.code, effect.code)
        return
      }
      case 'stop_marketing': {
        const by = { kind: 'platform', name: `error ${effect.code}` } as const
        const person = { tenant, phoneNumberId, recipient: message.recipient }
        await recordInbound(tx, [{ ...person, at: null, keyword: 'stop', scope: 'marketing', by }])
        return
      }
      case 'count_denial': {
        const count = (denials.get(keyOf(message)) ?? 0) + 1
        denials.set(keyOf(message), count)
        if (count < effect.limit) return
        await pause(tx, message, effect.code, effect.reason)
        denials.delete(keyOf(message))
      }
    }
  }

  return {
    carryOut: async (message: ClaimedMessage, effects: readonly Effect[], hasResponse: boolean): Promise<void> => {
      // Any other response ends the series.
      if (hasResponse && !effects.some(({ kind }) => kind === 'count_denial')) denials.delete(keyOf(message))
      if (effects.length === 0) return
      await inTenant(pool, message.tenant, async (tx: Tx) => {
        for (const effect of effects) await carryOut(tx, message, effect)
      })
    },
  }
}

const keyOf = ({ tenant, phoneNumberId }: ClaimedMessage): string => `${tenant} ${phoneNumberId}`

const ids = ({ tenant, phoneNumberId, id }: ClaimedMessage) => ({
  tenant,
  phone_number_id: phoneNumberId,
  message_id: id,
})
