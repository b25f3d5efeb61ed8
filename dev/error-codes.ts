import { type ErrorEntry, errorTable } from '../services/notifier/messaging-api/errors.ts'

const classes: Record<ErrorEntry['class'], string> = {
  retry: 'sent again by the schedule',
  delay: 'sent again after a delay',
  permanent: 'failed',
  hold_template: 'failed; the template is held',
  pause_channel: 'kept; the channel is paused',
}

const nameOf = ({ code, lastCode, subcode }: ErrorEntry): string =>
  `${code}${lastCode === undefined ? '' : ` to ${lastCode}`}${subcode === undefined ? '' : ` with subcode ${subcode}`}`

/** Writes docs/merchants/error-codes.md, from the notifier's table. */
export const errorCodesPage = (): string => {
  const lines = errorTable.map(
    entry => `| ${nameOf(entry)} | ${classes[entry.class]} | ${entry.meaning} | ${entry.advice} |`,
  )
  return `# Error codes of the messaging API

How the notifier treats each code, in a response or in a webhook. This page is generated from
\`services/notifier/messaging-api/errors.ts\` by \`node_modules/.bin/node dev/openapi.ts\`.

| code | what becomes of the message | meaning | what to do |
|---|---|---|---|
${lines.join('\n')}

With a code that is not listed, the message is sent again after a 401, 403, 429 or 5xx and after an error marked as transient; three
responses of 401 or 403 in a row pause the channel. A 408, 502, 504 or 520 and above without a code leaves the message \`unknown\`: a
gateway may have stopped waiting for an API that accepted it. Anything else fails the message.
`
}
