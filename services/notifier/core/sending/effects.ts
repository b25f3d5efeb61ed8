import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { findChannel, pauseChannel, restChannel, slowChannel } from '../channels/queries.ts'
import type { Person } from '../conversations/conversation.ts'
import { findRecipient } from '../conversations/identities.ts'
import { findSettings, recordInbound } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import { holdTemplate } from '../templates/queries.ts'
import type { Effect } from './decide.ts'
import type { ClaimedMessage } from './message.ts'
import { slowDown } from './rate-limit.ts'

interface EffectCause extends Person {
  readonly messageId: string
  readonly templateName: string | null
  readonly language: string | null
}

export const applyEffect = async (
  tx: Tx,
  logger: Logger,
  { tenant, phoneNumberId, recipient, messageId, templateName, language }: EffectCause,
  effect: Exclude<Effect, { kind: 'count_denial' }>,
): Promise<void> => {
  const fact = { tenant, phone_number_id: phoneNumberId, message_id: messageId }
  switch (effect.kind) {
    case 'pause_channel': {
      const { code, reason } = effect
      const paused = await pauseChannel(tx, tenant, phoneNumberId, code, reason)
      if (paused.length > 0) logger.error({ ...fact, code, reason }, 'channel.paused')
      return
    }
    case 'slow_channel':
      return slowNumber(tx, logger, tenant, phoneNumberId)
    case 'rest_channel':
      logger.warn({ ...fact, code: effect.code, seconds: effect.seconds }, 'channel.rests')
      await restChannel(tx, tenant, phoneNumberId, effect.seconds)
      return
    case 'hold_template':
      if (templateName === null || language === null) return
      logger.warn({ ...fact, code: effect.code, template: templateName }, 'template.held')
      await holdTemplate(tx, { tenant, phoneNumberId }, { name: templateName, language, code: effect.code })
      return
    case 'stop_marketing': {
      const by = { kind: 'platform', name: `error ${effect.code}` } as const
      const optOut = { keyword: 'stop', scope: 'marketing' } as const
      const person = await findRecipient(tx, tenant, recipient)
      await recordInbound(tx, [{ tenant, phoneNumberId, recipient: person, at: null, ...optOut, by }])
    }
  }
}

const slowNumber = async (tx: Tx, logger: Logger, tenant: string, phoneNumberId: string): Promise<void> => {
  const row = await findChannel(tx, tenant, phoneNumberId)
  if (!row) return
  const { now } = await findSettings(tx, tenant)
  const { rate, budget: tokens, budget_at: at, slowed_rate, slowed_at: slowedAt } = row
  const slowed = slowDown({ rate, tokens, at, slowedRate: slowed_rate, slowedAt }, now, Math.random)
  await slowChannel(tx, tenant, phoneNumberId, slowed)
  logger.warn({ tenant, phone_number_id: phoneNumberId, rate: slowed.slowedRate }, 'channel.slowed')
}

/** Creates the function that applies the effects of responses, logs failures and counts denials in this process. */
export const createEffects = (pool: pg.Pool, logger: Logger) => {
  const denials = new Map<string, number>()
  const countDenial = (key: string, effect: Effect) => {
    if (effect.kind !== 'count_denial') return effect
    const denied = (denials.get(key) ?? 0) + 1
    if (denied < effect.limit) denials.set(key, denied)
    else denials.delete(key)
    return denied < effect.limit ? [] : { ...effect, kind: 'pause_channel' as const }
  }
  return async (message: ClaimedMessage, effects: readonly Effect[], hasResponse: boolean): Promise<void> => {
    const key = `${message.tenant} ${message.phoneNumberId}`
    // Any other response ends the series of denials.
    if (hasResponse && !effects.some(({ kind }) => kind === 'count_denial')) denials.delete(key)
    const due = effects.flatMap(effect => countDenial(key, effect))
    if (due.length === 0) return
    await inTenant(pool, message.tenant, async (tx: Tx) => {
      for (const effect of due) await applyEffect(tx, logger, toCause(message), effect)
    }).catch(err => logger.error({ err }, 'message.effect_failed'))
  }
}

const toCause = ({ tenant, phoneNumberId, recipient, id: messageId, template }: ClaimedMessage): EffectCause => {
  const [templateName, language] = isPlain(template) ? [null, null] : [template.name, template.language.code]
  return { tenant, phoneNumberId, recipient, messageId, templateName, language }
}
