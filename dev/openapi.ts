// Builds the services' documents and all generated files. Run as a program, this file writes them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenApi } from '@courier/shared/api-docs/openapi.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import pg from 'pg'
import { pino } from 'pino'
import { createNotifier, type NotifierOptions } from '../services/notifier/app.ts'
import { createMessagingApi } from '../services/notifier/core/messaging-api/client.ts'
import { type ErrorEntry, errorTable } from '../services/notifier/core/messaging-api/error-table.ts'
import { createOrders } from '../services/orders/app.ts'
import { root } from './settings.ts'

/** Builds the documents of both services, without a database. */
export const readDocuments = async (): Promise<{ orders: OpenApi; notifier: OpenApi }> => {
  const common = { pool: new pg.Pool(), logger: pino({ level: 'silent' }), serviceToken: '', requestsPerMinute: 1 }
  const messagingApi = { baseUrl: 'http://127.0.0.1:1', version: 'v17.0', product: 'whatsapp', connections: 1 }
  const api = createMessagingApi(messagingApi)
  const orders = await createOrders({
    ...common,
    notifier: createServiceClient({ baseUrl: 'http://127.0.0.1:1', serviceToken: '' }),
    messages: createServiceClient({ baseUrl: 'http://127.0.0.1:1', serviceToken: '' }),
    maxOrdersPerBatch: 1000,
    maxBodyBytes: 5_242_880,
    publicRequestsPerMinute: 1,
    catalogueBytes: 2 ** 20,
    keyring: undefined,
    allowsPrivate: false,
    login: { tokenDays: 30, staffHours: 12, triesPerEmail: 5, triesPerAddress: 30 },
  })
  const ofNotifier = { api, ordersPublicUrl: 'http://127.0.0.1:3000', window: 1, recipientPauseSeconds: 0 }
  const notifier = await createNotifier({ ...common, ...ofNotifier } as NotifierOptions)
  const read = async ({ app }: Pick<typeof orders, 'app'> | Pick<typeof notifier, 'app'>): Promise<OpenApi> => {
    const { statusCode, body } = await app.inject('/openapi.json')
    if (statusCode !== 200) throw new Error(body)
    return JSON.parse(body)
  }
  const documents = { orders: await read(orders), notifier: await read(notifier) }
  await Promise.all([orders.app.close(), notifier.app.close(), api.close()])
  return documents
}

const classes: Record<ErrorEntry['class'], string> = {
  retry: 'Retried on schedule',
  delay: 'Retried after a delay',
  permanent: 'Failed',
  hold_template: 'Failed; the template is held',
  pause_channel: 'Kept; the channel is paused',
}

const nameErrorCode = ({ code, lastCode, subcode }: ErrorEntry): string =>
  `${code}${lastCode === undefined ? '' : ` to ${lastCode}`}${subcode === undefined ? '' : ` with subcode ${subcode}`}`

const listClass = ([errorClass, title]: [string, string]): string => {
  const byAdvice = Object.entries(
    Object.groupBy(
      errorTable.filter(entry => entry.class === errorClass),
      ({ advice }) => advice,
    ),
  )
  const blocks = byAdvice.map(([advice, entries = []]) =>
    [`*${advice}*`, ...entries.map(entry => `- ${nameErrorCode(entry)}: ${entry.meaning}`)].join('\n'),
  )
  return `## ${title}\n\n${blocks.join('\n\n')}\n`
}

/** Builds docs/merchants/error-codes.md from the notifier's table. */
const buildErrorCodesPage = (): string => `# Error codes of the messaging API

Headings say how the notifier treats a message with such an error, in a response or a webhook; lines in italics say what
to do. \`dev/openapi.ts\` writes this page.

${Object.entries(classes).map(listClass).join('\n')}
## Codes that are not listed

The notifier retries the message after a 401, 403, 429 or 5xx and after an error marked as transient; three 401s or
403s in a row pause the channel. But a 408, 502, 504 or any status from 520 up, without a code and not transient, leaves
the message \`unknown\`: a gateway may have stopped waiting for an API that accepted it. Any other error fails it.
`

/** Generates the files that the repository keeps, by path. */
export const generatedFiles = (): Record<string, string> => ({
  'docs/merchants/error-codes.md': buildErrorCodesPage(),
})

/** Writes the types of all requests, which the examples import. The repository does not keep them. */
export const writeTypes = async (documents: Awaited<ReturnType<typeof readDocuments>>): Promise<void> => {
  // Imports this package only here, because it loads a whole compiler.
  const { default: openapiTypeScript, astToString } = await import('openapi-typescript')
  for (const [name, document] of Object.entries(documents)) {
    const types = await openapiTypeScript(JSON.stringify(document), { alphabetize: true })
    writeFileSync(join(root, `examples/typescript/${name}.d.ts`), astToString(types))
  }
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(generatedFiles())) writeFileSync(join(root, path), text)
  await writeTypes(await readDocuments())
}
