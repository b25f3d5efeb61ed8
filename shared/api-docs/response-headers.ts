interface Header {
  description: string
  schema: object
  example: unknown
}

/** The headers of responses, as components of a document. */
export const responseHeaders: Record<string, Header> = {
  Allow: {
    description: 'The methods that the path supports.',
    schema: { type: 'string' },
    example: 'GET, HEAD',
  },
  ETag: {
    description: 'Names the state of the order, for If-Match.',
    schema: { type: 'string' },
    example: '"q3x0cJ2mYb8Kf5rT1uVw7ZaE6dH"',
  },
  'Idempotency-Replayed': {
    description: 'The response is that of an earlier request with the same Idempotency-Key; absent otherwise.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  RateLimit: {
    description: 'Of the limit that counts: its name, how many requests are left (r), and for how many seconds (t).',
    schema: { type: 'string' },
    example: '"merchant";r=5999;t=60',
  },
  'RateLimit-Policy': {
    description: 'That limit: how many requests (q) in how many seconds (w).',
    schema: { type: 'string' },
    example: '"merchant";q=6000;w=60',
  },
  'Retry-After': {
    description: 'After how many seconds to repeat the request; absent from a 503 whose outcome is unknown.',
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  'X-Request-Id': {
    description: 'Quote it when you report a problem: the log has it.',
    schema: { type: 'string', format: 'uuid' },
    example: '5f7d2c1e-9a3b-4c8d-8e6f-0a1b2c3d4e5f',
  },
}

type Refs = Record<string, { $ref: string }>

interface Operation {
  parameters?: { name: string }[]
  responses: Record<string, { content?: object }>
}

/** The headers of an operation's response, by reference. */
export const headersOf = (path: string, { parameters = [], responses }: Operation, status: string): Refs => {
  // Refused before there is a request.
  if (status === '408' || status === '431') return {}
  const isRepeatable = parameters.some(({ name }) => name === 'Idempotency-Key')
  const isError = JSON.stringify(responses[status]?.content ?? {}).includes('/Error"')
  const carried: Record<string, boolean> = {
    Allow: status === '405',
    ETag: path.endsWith('/order/{waybill}') && ['200', '412'].includes(status),
    'Idempotency-Replayed': isRepeatable && status.startsWith('2'),
    // The other paths are not counted by address.
    RateLimit: path.startsWith('/api/'),
    'RateLimit-Policy': path.startsWith('/api/'),
    'Retry-After': isError && ['409', '429', '503'].includes(status),
    'X-Request-Id': true,
  }
  const names = Object.keys(carried).filter(name => carried[name])
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
