import { access } from './access.ts'
import { canaries } from './canaries.ts'
import { databaseAway } from './database-away.ts'
import { fuzz } from './fuzz.ts'
import { notifierAway } from './notifier-away.ts'
import { notifierKilled } from './notifier-killed.ts'
import { ordersKilled } from './orders-killed.ts'
import type { TrustPromise } from './promise.ts'
import { repeatedCalls } from './repeated-calls.ts'
import { restarts } from './restarts.ts'
import { roles } from './roles.ts'
import { rowSecurity } from './row-security.ts'
import { sendAnswers } from './send-answers.ts'
import { sendLimits } from './send-limits.ts'
import { signatures } from './signatures.ts'
import { slowSockets } from './slow-sockets.ts'
import { soak } from './soak.ts'
import { webhookStorm } from './webhook-storm.ts'

/** In the order of docs/promises.md. */
export const promises: readonly TrustPromise[] = [
  ordersKilled,
  repeatedCalls,
  databaseAway,
  restarts,
  notifierAway,
  notifierKilled,
  sendAnswers,
  sendLimits,
  webhookStorm,
  soak,
  fuzz,
  signatures,
  slowSockets,
  access,
  rowSecurity,
  roles,
  canaries,
]
