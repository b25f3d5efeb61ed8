import type { Logger } from 'pino'
import { pauseChannel } from '../channels/queries.ts'
import type { Tx } from '../database/tables.ts'
import { classify } from '../messaging-api/classify.ts'
import { holdTemplate } from '../templates/queries.ts'
import type { ReportedFailure } from '../webhooks/settle-messages.ts'

/**
 * Draws the same consequences from failures that webhooks tell as from refused sends: a template is held, a channel
 * paused. Each channel and template once, however many messages failed.
 */
export const reactToFailures =
  (logger: Logger) =>
  async (tx: Tx, failures: readonly ReportedFailure[]): Promise<void> => {
    const told = new Map(failures.map(failure => [JSON.stringify({ ...failure, messageId: '' }), failure]))
    for (const { tenant, phoneNumberId, code, templateName, language } of told.values()) {
      const cause = classify({ status: null, code, subcode: null, isTransient: false, retryAfterSeconds: null })
      const fact = { tenant, phone_number_id: phoneNumberId, code }
      if (cause.class === 'hold_template' && code !== null) {
        await holdTemplate(tx, tenant, phoneNumberId, templateName, language, code)
        logger.warn({ ...fact, template: templateName }, 'template.held')
      }
      if (cause.class === 'pause_channel' && cause.pauseSeconds === null) {
        const paused = await pauseChannel(tx, tenant, phoneNumberId, code, cause.meaning)
        if (paused.length > 0) logger.error({ ...fact, reason: cause.meaning }, 'channel.paused')
      }
    }
  }
