// node dev/error-codes.ts: writes docs/error-codes.md from the notifier's table.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ErrorEntry, errorTable } from '../services/notifier/messaging-api/errors.ts'
import { root } from './settings.ts'

export const errorCodesPath = join(root, 'docs/error-codes.md')

const classes: Record<ErrorEntry['class'], string> = {
  retry: 'sent again by the schedule',
  delay: 'sent again after a delay',
  permanent: 'failed',
  hold_template: 'failed; the template is held',
  pause_channel: 'kept; the channel is paused',
}

const nameOf = ({ code, lastCode, subcode }: ErrorEntry): string =>
  `${code}${lastCode === undefined ? '' : ` to ${lastCode}`}${subcode === undefined ? '' : ` with subcode ${subcode}`}`

/** The page of all codes, in Markdown. */
export const errorCodesPage = (): string => {
  const lines = errorTable.map(
    entry => `| ${nameOf(entry)} | ${classes[entry.class]} | ${entry.meaning} | ${entry.advice} |`,
  )
  return `# Error codes of the messaging API

What the notifier makes of each code, whether it comes as an answer or by webhook. This page is made from
\`services/notifier/messaging-api/errors.ts\` by \`node_modules/.bin/node dev/error-codes.ts\`.

| code | what becomes of the message | meaning | what to do |
|---|---|---|---|
${lines.join('\n')}

A code that is not here is sent again when the answer was 5xx, 429 or marked as transient; three answers 401 or 403 in a row
pause the channel; any other fails the message.
`
}

if (import.meta.main) await writeFile(errorCodesPath, errorCodesPage())
