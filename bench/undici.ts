import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'

interface Sender {
  request: (options: object) => Promise<{ statusCode: number; body: { text: () => Promise<string> } }>
  destroy: () => Promise<void>
}

type SenderClass = new (origin: string, options: object) => Sender

/** The notifier's undici: the one at the root is another version. */
export const undici: { Client: SenderClass; Pool: SenderClass } = createRequire(
  join(root, 'services/notifier/package.json'),
)('undici')

export type { Sender }
