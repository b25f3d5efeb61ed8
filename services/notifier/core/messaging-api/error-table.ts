/**
 * Lists what the queue may do with a failed message: send it again later by its own schedule; send it again only after
 * a delay; give up on it; give up on it and hold its template; pause its channel and keep the message, with all others,
 * until the channel resumes.
 */
export const errorClasses = ['retry', 'delay', 'permanent', 'hold_template', 'pause_channel'] as const
export type ErrorClass = (typeof errorClasses)[number]

/** Gives seconds or a rule: 15, 30, then 60 minutes; 1, 4, 16, … seconds; an hour. A wait in the headers prevails. */
export type Delay = number | 'usage_header' | 'powers_of_four' | 'named_in_details'

/** Is one line of docs/merchants/error-codes.md, which dev/openapi.ts writes. */
export interface ErrorEntry {
  readonly code: number
  /** Ends a range that starts with `code`. */
  readonly lastCode?: number
  /** Limits the line to this subcode of the code. */
  readonly subcode?: number
  readonly class: ErrorClass
  readonly meaning: string
  readonly advice: string
  readonly delay?: Delay
  /** Becomes permanent after this many retries. */
  readonly maxRetries?: number
  /** Halves the number's rate, or spaces out the recipient's messages. */
  readonly slows?: 'number' | 'recipient'
  /** The delay applies to everything that the number sends, not to this message alone. */
  readonly holdsNumber?: true
  /** Ends the pause after this many seconds. */
  readonly pauseSeconds?: number
}

const line = (
  code: number,
  errorClass: ErrorClass,
  meaning: string,
  advice: string,
  more: Partial<ErrorEntry> = {},
): ErrorEntry => ({ code, class: errorClass, meaning, advice, ...more })

const wait = 'Nothing to do: the notifier retries.'
const limited = 'Wait; if it happens often, spread out the requests or ask the API for a higher limit.'
const token = 'Store a valid access token for the channel, then run its check.'
const rights = 'Give the system user full control of app and account with both scopes, then run the check.'
const account = 'Clear it up in the business suite, then resume the channel.'
const request = 'Correct the message and send it again.'
const parameters = 'Sync the templates, fill in the parameters of this one and send again.'
const shorter = "Shorten the parameters or the template's own text, then send it again."
const template = 'Correct the template in the business suite, wait for its approval and sync the templates.'
const support = 'Send it again; if the error persists, report it to the support of the API.'
const recipient = 'Reach this person in another way.'
const number = 'Check that the phone number id is right and its account is assigned to the system user.'
const registerAgain = 'Register the number again after the wait; each request counts towards 10 in 72 hours.'
const register = 'Register the number, then resume the channel.'
const verify = 'Verify the number in the manager, then register it.'
const deregister = 'Deregister the number, then register it again.'
const less = 'Send fewer messages, and only those that people want.'
const lessMarketing = 'Send this person no marketing messages.'
const later = 'Send it once more after a day, or not at all.'
const askAgain = 'Ask the person to send it again.'
const marketing = 'Send an approved utility template by the ordinary request.'

const usage = { delay: 'usage_header', holdsNumber: true } as const
const perRecipient = { delay: 'powers_of_four', slows: 'recipient' } as const
const hours24 = { pauseSeconds: 86_400 } as const
const hours72 = { delay: 259_200 } as const

/** A failure with this code opts the person out of marketing messages. */
export const marketingStopped = 131050

/** Lists every code that the API documents (docs/contributors/messaging-api.md#error-table). */
export const errorTable: readonly ErrorEntry[] = [
  line(0, 'pause_channel', 'The access token has expired or the app lost its access.', token),
  line(1, 'retry', 'The request was wrong or the API failed; it does not say which.', support, { maxRetries: 3 }),
  line(2, 'retry', 'The API is down or overloaded.', wait),
  line(3, 'pause_channel', 'The app lacks the capability or permission for this request.', rights),
  line(4, 'delay', 'The app has sent too many requests.', limited, usage),
  line(10, 'pause_channel', 'A permission was not granted or was revoked.', rights),
  line(17, 'delay', 'The system user has sent too many requests.', limited, usage),
  line(33, 'pause_channel', 'The sending number was deleted.', 'Add a number to the account and set up its channel.'),
  line(100, 'permanent', 'A parameter is unknown, misspelled, too long or of the wrong form.', request),
  line(100, 'pause_channel', 'The number does not exist, or the token may not use it.', number, { subcode: 33 }),
  line(104, 'pause_channel', 'The request came without an access token.', token),
  line(190, 'pause_channel', 'The access token is expired, invalid or revoked.', token),
  line(200, 'pause_channel', 'The token has no permission for this account.', rights, { lastCode: 299 }),
  line(368, 'pause_channel', 'The account is restricted or disabled for breaking the policy.', account),
  line(803, 'pause_channel', 'The number or account was not found.', number),
  line(80007, 'delay', 'The account has sent too many requests.', limited, usage),
  line(80008, 'delay', 'The account has sent too many requests for templates.', limited, usage),
  line(130403, 'permanent', 'Our own business has blocked this person.', 'Unblock the person, then send it again.'),
  line(130429, 'retry', 'The number sends faster than its throughput allows.', wait, { slows: 'number' }),
  line(130472, 'permanent', 'The person is in an experiment that gets no marketing messages.', recipient),
  line(130497, 'permanent', 'The account may not message people in this country.', 'Send nothing to this country.'),
  line(131000, 'retry', 'The API failed and gives no reason.', support, { maxRetries: 5 }),
  line(131005, 'pause_channel', 'Access was denied: a permission is missing.', rights),
  line(131008, 'permanent', 'A required parameter is missing.', request),
  line(131009, 'permanent', 'The value of a parameter is invalid.', request),
  line(131016, 'retry', 'A part of the API is down for a moment.', wait),
  line(131021, 'permanent', 'The recipient is the sending number itself.', 'Send it to another number.'),
  line(131026, 'permanent', 'The person cannot be reached: not on the app, or on one too old.', recipient),
  line(131030, 'permanent', 'The sender is a test number and the person not on its list.', 'Use a real number.'),
  line(131031, 'pause_channel', 'The account is locked, or the PIN was wrong.', account),
  line(131037, 'pause_channel', 'The display name of the number is not approved.', account),
  line(131042, 'pause_channel', 'There is a problem with the payment method.', account),
  line(131045, 'pause_channel', 'The number is not registered properly.', register),
  line(131047, 'permanent', 'The 24 hours since the last message of the person are over.', 'Send a template instead.'),
  line(131048, 'pause_channel', 'Too many people blocked or reported the number.', less, hours24),
  line(131049, 'permanent', 'The person gets enough marketing messages.', later),
  line(marketingStopped, 'permanent', 'The person wants no marketing messages from us.', lessMarketing),
  line(131051, 'permanent', 'This type of message is not supported.', request),
  line(131052, 'permanent', 'The media of an inbound message could not be fetched.', askAgain),
  line(131053, 'permanent', 'Our media could not be fetched.', 'Check that the link works, then send it again.'),
  line(131055, 'permanent', 'The request is not allowed for this message.', marketing),
  line(131056, 'delay', 'Too many messages to this person in a short time.', wait, perRecipient),
  line(131057, 'delay', 'The account is in maintenance for about a minute.', wait, { delay: 60, holdsNumber: true }),
  line(131059, 'retry', 'The cursor of a list has become invalid.', 'Start the sync again from the first page.'),
  line(131062, 'permanent', 'This message needs a phone number as its recipient.', request),
  line(131063, 'hold_template', 'Marketing templates are switched off for this request.', marketing),
  line(131064, 'pause_channel', 'The account is limited for templates of a wrong category.', template, hours24),
  line(132000, 'hold_template', 'The number of parameters differs from the template.', parameters),
  line(132001, 'hold_template', 'The template is missing in this language or not approved.', parameters),
  line(
    132005,
    'permanent',
    'The text with its parameters is too long: a header may have 60 characters, a body 1,024.',
    shorter,
  ),
  line(132007, 'hold_template', 'The content of the template breaks the policy.', template),
  line(132012, 'hold_template', 'A parameter has another type than the template expects.', parameters),
  line(132015, 'hold_template', 'The template is paused because of its low quality.', template),
  line(132016, 'hold_template', 'The template is disabled for good.', 'Make a new template with other content.'),
  line(132018, 'permanent', 'A parameter is not allowed: a line break, a tab or too many blanks.', request),
  line(132068, 'hold_template', 'The flow of the template is blocked.', template),
  line(132069, 'delay', 'The flow of the template is throttled.', template, { delay: 3_600 }),
  line(133000, 'permanent', 'An earlier deregistration is not complete.', deregister),
  line(133004, 'retry', 'The registration server is down for a moment.', registerAgain, { maxRetries: 3 }),
  line(133005, 'permanent', 'The PIN is wrong.', 'Find out or reset the PIN of the number before the next try.'),
  line(133006, 'permanent', 'The number has to be verified again.', verify),
  line(133008, 'delay', 'The PIN was wrong too often.', registerAgain, { delay: 'named_in_details' }),
  line(133009, 'delay', 'The PIN was entered too fast.', registerAgain, { delay: 'named_in_details' }),
  line(133010, 'pause_channel', 'The number is not registered.', register),
  line(133015, 'delay', 'The number was deleted a moment ago.', registerAgain, { delay: 300 }),
  line(133016, 'delay', 'The number was registered or deregistered 10 times in 72 hours.', registerAgain, hours72),
  line(134011, 'pause_channel', 'The terms for payments are not accepted.', account),
  line(134100, 'permanent', 'Only marketing messages may go by this request.', marketing),
  line(134101, 'delay', 'The template is still being copied for this request.', wait, { delay: 600 }),
  line(134102, 'permanent', 'This request cannot use the template.', marketing),
  line(135000, 'permanent', 'The API refused the parameters and gives no reason.', request),
  line(137000, 'permanent', 'The identity of the person has changed.', 'Have the person confirm the new phone first.'),
  line(2494100, 'delay', 'The number is in maintenance.', wait, { delay: 300, holdsNumber: true }),
]

/** Finds the line for a code, by its subcode if there is one. Returns undefined for a code that is not in the table. */
export const findError = (code: number, subcode: number | null = null): ErrorEntry | undefined => {
  const lines = errorTable.filter(entry => entry.code <= code && code <= (entry.lastCode ?? entry.code))
  return lines.find(entry => entry.subcode === subcode) ?? lines.find(entry => entry.subcode === undefined)
}
