import { Pool } from 'undici'
import {
  collectTemplates,
  ownerFields,
  phoneNumberFields,
  portfolioFields,
  readCallback,
  readPaymentMethod,
  readPhoneNumber,
  readPortfolio,
  readSubscribedApps,
  readSubscribedFields,
  readTokenInfo,
} from './account-responses.ts'
import { Exchange } from './exchange.ts'
import { type Content, isPlain, listTexts } from './message-template.ts'
import { type Accepted, type Failed, type Received, readAcceptance, readResponse, readSuccess } from './responses.ts'
import { isUserId } from './user-id.ts'

export interface MessagingApiOptions {
  readonly baseUrl: string
  /** Limits concurrent requests; others wait for a free connection. */
  readonly connections?: number
  // undici checks these three every half second, and not before a whole second has passed.
  readonly connectMilliseconds?: number
  /** Limits the time from the request to the head of its response. */
  readonly headersMilliseconds?: number
  /** Limits the time between two chunks of a response. */
  readonly bodyMilliseconds?: number
  /** Limits the whole request, including the wait for a connection; exact to the millisecond. */
  readonly requestMilliseconds?: number
  readonly maxResponseBytes?: number
  readonly version: string
  readonly product: string
}

interface Credentials {
  readonly accessToken: string
}

export interface OutboundMessage {
  /** Has the form of E.164, or is the user id of a person without a number. */
  readonly to: string
  readonly template: Content
  /** Has at most 512 characters; status webhooks bring it back. */
  readonly callbackData: string
  readonly traceparent?: string | null | undefined
  /** Replaces a longer `requestMilliseconds`. */
  readonly withinMilliseconds?: number
}

export interface Registration {
  readonly pin: string
  readonly certificate: string
}

export type MessagingApi = ReturnType<typeof createMessagingApi>

/** Creates the client of the messaging API. Its methods never reject and never repeat a request. */
export const createMessagingApi = (options: MessagingApiOptions) => {
  const { version, product } = options
  const { request, giveUp, close } = createRequester(options)
  const pathTo = (id: string): string => `/${version}/${encodeURIComponent(id.toWellFormed())}`

  return {
    product,
    version,
    /** Sends a message (docs/merchants/contract.md#send). */
    send: async (
      credentials: Credentials,
      phoneNumberId: string,
      message: OutboundMessage,
    ): Promise<Accepted | Failed> => {
      const { template, traceparent, withinMilliseconds } = message
      const body = writeBody(message, product)
      const texts = isPlain(template) ? [template] : listTexts(template)
      const carried = [message.to.replace(/^\+/, ''), ...texts.map(({ text }) => text)]
      const more = { traceparent, withinMilliseconds, body, carried }
      const response = await request(credentials, `${pathTo(phoneNumberId)}/messages`, readAcceptance, more)
      if (response.kind !== 'received') return response
      return { kind: 'accepted', ...response.value, servedVersion: response.servedVersion }
    },
    /**
     * Registers a number (docs/merchants/contract.md#register). Each request counts towards 10 in 72 hours, even a
     * refused one.
     */
    register: (credentials: Credentials, phoneNumberId: string, { pin, certificate }: Registration) => {
      const more = { body: { messaging_product: product, pin, certificate }, carried: [pin, certificate] }
      return request(credentials, `${pathTo(phoneNumberId)}/register`, readSuccess, more)
    },
    phoneNumber: (credentials: Credentials, phoneNumberId: string) =>
      request(credentials, `${pathTo(phoneNumberId)}?fields=${phoneNumberFields}`, readPhoneNumber),
    /** Reads the address to which the API posts the webhooks of a number; null if it posts them nowhere. */
    callback: (credentials: Credentials, phoneNumberId: string) =>
      request(credentials, `${pathTo(phoneNumberId)}?fields=webhook_configuration`, readCallback),
    /** Reads to whom a number belongs, and the limit of its portfolio, which versions before v24.0 do not know. */
    portfolio: async (credentials: Credentials, phoneNumberId: string) => {
      const read = (fields: string) => request(credentials, `${pathTo(phoneNumberId)}?fields=${fields}`, readPortfolio)
      const response = await read(portfolioFields)
      const isUnknownField = response.kind === 'refused' && response.code === 100 && response.subcode === null
      return isUnknownField ? read(ownerFields) : response
    },
    /** Reads the ids of the apps that get the webhooks of an account. */
    subscribedApps: (credentials: Credentials, wabaId: string) =>
      request(credentials, `${pathTo(wabaId)}/subscribed_apps`, readSubscribedApps),
    /** Reads whether an account has a payment method, which the API does not say to every app. */
    paymentMethod: (credentials: Credentials, wabaId: string) =>
      request(credentials, `${pathTo(wabaId)}?fields=primary_funding_id`, readPaymentMethod),
    /** Reads the fields of accounts to which an app is subscribed. The API takes no other token here than the app's. */
    subscribedFields: (appId: string, appSecret: string) =>
      request({ accessToken: `${appId}|${appSecret}` }, `${pathTo(appId)}/subscriptions`, readSubscribedFields),
    /** Subscribes the token's app to the webhooks of an account. */
    subscribe: (credentials: Credentials, wabaId: string) =>
      request(credentials, `${pathTo(wabaId)}/subscribed_apps`, readSuccess, { body: {} }),
    debugToken: (credentials: Credentials) => {
      const token = encodeURIComponent(credentials.accessToken.toWellFormed())
      return request(credentials, `/debug_token?input_token=${token}`, readTokenInfo)
    },
    /** Returns all templates of an account as the API writes them, or the failure of the first page that failed. */
    templates: (credentials: Credentials, wabaId: string) =>
      collectTemplates((query, read) => request(credentials, `${pathTo(wabaId)}/message_templates?${query}`, read)),
    /** Ends the requests in flight, as their deadline would; later ones are `not_written`. */
    giveUp,
    /** Waits for requests in flight; later ones are `not_written`. */
    close,
  }
}

/** Builds the body of docs/merchants/contract.md#send, with our own id of the message for the webhooks. */
const writeBody = ({ to, template, callbackData }: OutboundMessage, product: string) => ({
  messaging_product: product,
  recipient_type: 'individual',
  // A user id in `to` would be accepted and dropped (docs/contributors/messaging-api.md#people).
  ...(isUserId(to) ? { recipient: to } : { to: to.replace(/^\+/, '') }),
  biz_opaque_callback_data: callbackData,
  ...writeContent(template),
})

const writeContent = (content: Content) => {
  if (isPlain(content) && content.button) {
    const { action: id, title } = content.button
    const buttons = [{ type: 'reply', reply: { id, title } }]
    return { type: 'interactive', interactive: { type: 'button', body: { text: content.text }, action: { buttons } } }
  }
  if (isPlain(content) && content.asksNumber) {
    const action = { name: 'request_contact_info' }
    return { type: 'interactive', interactive: { type: action.name, body: { text: content.text }, action } }
  }
  if (isPlain(content)) return { type: 'text', text: { preview_url: false, body: content.text } }
  const { name, components } = content
  const { code, policy } = content.language
  return { type: 'template', template: { name, language: { code, ...(policy && { policy }) }, components } }
}

interface RequestParts {
  readonly traceparent?: string | null | undefined
  readonly withinMilliseconds?: number | undefined
  /** Makes the request a POST; without it, the request is a GET. */
  readonly body?: object
  /** Lists texts of the request, besides the token, that are removed from what the API writes. */
  readonly carried?: readonly string[]
}

type Read<Value> = (body: unknown) => Value | undefined

/** Creates a function that makes each request once, follows no redirects, and reads the response. */
const createRequester = (options: MessagingApiOptions) => {
  const { origin, pathname } = new URL(options.baseUrl)
  const prefix = pathname.replace(/(?<!\/)\/+$/, '')
  const pool = createPool(origin, options)
  const { requestMilliseconds = 15_000 } = options
  const inFlight = new Set<Exchange>()
  let isGivenUp = false

  const request = async <Value>(
    { accessToken }: Credentials,
    path: string,
    read: Read<Value>,
    { traceparent, withinMilliseconds = Number.POSITIVE_INFINITY, body, carried = [] }: RequestParts = {},
  ): Promise<Received<Value> | Failed> => {
    if (isGivenUp) return { kind: 'not_written', reason: 'shutting down' }
    const exchange = new Exchange(Math.min(requestMilliseconds, Math.max(0, withinMilliseconds)))
    inFlight.add(exchange)
    const headers = { authorization: `Bearer ${accessToken}`, ...(traceparent && { traceparent }) }
    if (body) {
      const json = { ...headers, 'content-type': 'application/json' }
      pool.dispatch({ method: 'POST', path: prefix + path, headers: json, body: JSON.stringify(body) }, exchange)
    } else pool.dispatch({ method: 'GET', path: prefix + path, headers }, exchange)
    const result = await exchange.result
    inFlight.delete(exchange)
    return readResponse(result, read, [accessToken, ...carried], new Date())
  }
  const giveUp = (): void => {
    isGivenUp = true
    for (const exchange of inFlight) exchange.giveUp()
  }
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    // A second close() of a Pool rejects.
    closed ??= pool.close()
    return closed
  }
  return { request, giveUp, close }
}

const createPool = (origin: string, options: MessagingApiOptions): Pool =>
  new Pool(origin, {
    connections: options.connections ?? 64,
    connect: { timeout: options.connectMilliseconds ?? 3_000 },
    headersTimeout: options.headersMilliseconds ?? 10_000,
    bodyTimeout: options.bodyMilliseconds ?? 5_000,
    maxResponseSize: options.maxResponseBytes ?? 262_144,
    // Both keep undici from writing a request twice: over HTTP/2 it repeats a POST after GOAWAY and REFUSED_STREAM, and
    // of several requests in a pipeline it writes all but the first again when the connection ends.
    allowH2: false,
    pipelining: 1,
  })
