import { Port, ServiceToken, ServiceUrl } from '@courier/shared/config.ts'
import type { Static, TObject } from '@sinclair/typebox'

/** Lists the settings of the connection to the notifier. */
export const notifierSettings = {
  SERVICE_TOKEN: ServiceToken,
  NOTIFIER_URL: ServiceUrl('the address of the notifier; without it NOTIFIER_PORT on this machine'),
  NOTIFIER_PORT: Port(3001, 'the port of the notifier on this machine'),
}

type NotifierSettings = Static<TObject<typeof notifierSettings>>

export const notifierUrl = ({
  NOTIFIER_URL,
  NOTIFIER_PORT,
}: Pick<NotifierSettings, 'NOTIFIER_URL' | 'NOTIFIER_PORT'>): string =>
  NOTIFIER_URL ?? `http://127.0.0.1:${NOTIFIER_PORT}`
