/** Holds the platform's status and texts for a code. `details` applies if an error has no details of its own. */
interface ErrorFacts {
  status: number
  title: string
  details?: string
  /** Omits `(#code)` before the title. */
  bare?: true
}

/** Lists the errors by code (docs/contributors/messaging-api.md#error-table). */
export const errorTable: Record<number, ErrorFacts> = {
  0: { status: 401, title: 'We were unable to authenticate the app user.', bare: true },
  1: { status: 400, title: 'An unknown error occurred' },
  2: { status: 503, title: 'Service temporarily unavailable' },
  3: { status: 500, title: 'Application does not have the capability to make this API call.' },
  4: { status: 400, title: 'Application request limit reached' },
  10: { status: 403, title: 'Application does not have permission for this action' },
  17: { status: 400, title: 'User request limit reached' },
  33: { status: 400, title: 'Parameter value is not valid', details: 'The business phone number has been deleted.' },
  100: { status: 400, title: 'Invalid parameter' },
  104: { status: 401, title: 'An access token is required to request this resource.', bare: true },
  190: { status: 401, title: 'Invalid OAuth access token - Cannot parse access token', bare: true },
  200: { status: 403, title: 'You do not have permission to access this WhatsApp Business Account' },
  368: { status: 403, title: 'Temporarily blocked for policies violations' },
  803: { status: 404, title: 'Some of the aliases you requested do not exist' },
  80007: { status: 400, title: 'Rate limit issues' },
  80008: { status: 400, title: 'There have been too many calls to this WhatsApp Business account.' },
  130403: { status: 400, title: 'The user was blocked by the business' },
  130429: { status: 400, title: 'Rate limit hit', details: 'Cloud API message throughput has been reached.' },
  130472: { status: 400, title: "User's number is part of an experiment" },
  130497: { status: 403, title: 'Business account is restricted from messaging users in this country.' },
  131000: { status: 500, title: 'Something went wrong' },
  131005: { status: 403, title: 'Access denied' },
  131008: { status: 400, title: 'Required parameter is missing' },
  131009: { status: 400, title: 'Parameter value is not valid' },
  131016: { status: 500, title: 'Service unavailable' },
  131021: { status: 400, title: 'Recipient cannot be sender' },
  131026: { status: 400, title: 'Message undeliverable' },
  131030: { status: 400, title: 'Recipient phone number not in allowed list' },
  131031: { status: 403, title: 'Account has been locked' },
  131037: { status: 400, title: 'WhatsApp provided number needs display name approval before message can be sent.' },
  131042: { status: 400, title: 'Business eligibility payment issue' },
  131045: { status: 500, title: 'Incorrect certificate' },
  131047: { status: 400, title: 'Re-engagement message' },
  131048: { status: 400, title: 'Spam rate limit hit' },
  131049: { status: 400, title: 'This message was not delivered to maintain healthy ecosystem engagement.' },
  131050: { status: 400, title: 'User has stopped receiving marketing messages from this business' },
  131051: { status: 400, title: 'Unsupported message type' },
  131052: { status: 400, title: 'Media download error' },
  131053: { status: 400, title: 'Media upload error' },
  131055: { status: 400, title: 'Method not allowed' },
  131056: {
    status: 400,
    title: '(Business Account, Consumer Account) pair rate limit hit',
    details:
      'Message failed to send because there were too many messages sent from this phone number to the same phone number in a short period of time.',
  },
  131057: { status: 500, title: 'Account in maintenance mode' },
  131059: { status: 400, title: 'Invalid cursor' },
  131062: { status: 400, title: 'This recipient is not supported for this message' },
  131063: { status: 400, title: 'Marketing templates are disabled on this API' },
  131064: { status: 400, title: 'Account limited because of template misclassification' },
  132000: { status: 400, title: 'Number of parameters does not match the expected number of params' },
  132001: { status: 404, title: 'Template name does not exist in the translation' },
  132005: { status: 400, title: 'Translated text too long' },
  132007: { status: 400, title: 'Template format character policy violated' },
  132012: { status: 400, title: 'Parameter format does not match format in the created template' },
  132015: { status: 400, title: 'Template is paused' },
  132016: { status: 400, title: 'Template is disabled' },
  132018: { status: 400, title: 'There is a problem with the template parameters' },
  132068: { status: 400, title: 'Flow is in blocked state' },
  132069: { status: 400, title: 'Flow is in throttled state' },
  133000: { status: 500, title: 'Incomplete deregistration' },
  133004: { status: 503, title: 'Server temporarily unavailable' },
  133005: { status: 400, title: 'Two step verification PIN mismatch' },
  133006: { status: 400, title: 'Phone number re-verification needed' },
  133008: { status: 400, title: 'Too many two step verification PIN guesses' },
  133009: { status: 400, title: 'Two step verification PIN guessed too fast' },
  133010: { status: 400, title: 'Phone number not registered' },
  133015: { status: 400, title: 'Please wait a few minutes before attempting to register this phone number' },
  133016: { status: 400, title: 'Account register deregister rate limit exceeded' },
  134011: { status: 400, title: 'WhatsApp payments terms of service not accepted' },
  134100: { status: 400, title: 'Only marketing messages supported' },
  134101: { status: 500, title: 'Template is syncing' },
  134102: { status: 400, title: 'Template is unavailable for use' },
  135000: { status: 400, title: 'Generic user error' },
  137000: { status: 400, title: 'Identity key hash mismatch' },
  2494100: { status: 400, title: 'Number in maintenance mode' },
}

/**
 * Returns true for the codes of plain Graph errors, which carry no `error_data` by default
 * (docs/contributors/messaging-api.md#error-format).
 */
export const isPlainGraphCode = (code: number): boolean => code < 1000 || code === 80007 || code === 80008

export const findFacts = (code: number): ErrorFacts => errorTable[code] ?? { status: 400, title: 'Unknown error' }
