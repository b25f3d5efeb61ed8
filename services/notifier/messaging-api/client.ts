import {
  type CatalogueTemplate,
  type PhoneNumber,
  phoneNumberFields,
  readPhoneNumber,
  readTokenInfo,
  type TokenInfo,
} from './account-answers.ts'
import { type Accepted, type Answered, type Failed, type Registered, readAcceptance, readSuccess } from './answers.ts'
import { collectTemplates } from './template-pages.ts'
import { type Caller, createWire, type WireOptions } from './wire.ts'

export interface MessagingApiOptions extends WireOptions {
  /** v17.0 */
  readonly version: string
  /** whatsapp */
  readonly product: string
  /** Writes `to` with a plus sign; the spec says without (messaging-api.md 1.3). */
  readonly plusPrefix?: boolean
}

export interface Credentials {
  readonly accessToken: string
}

interface Component {
  readonly type: string
  readonly parameters: readonly { readonly type: string; readonly text: string }[]
}

export interface TemplateMessage {
  /** E.164. */
  readonly to: string
  readonly template: {
    readonly name: string
    readonly language: { readonly code: string }
    readonly components: readonly Component[]
  }
  /** At most 512 characters; status webhooks bring it back. */
  readonly callbackData: string
}

export interface Registration {
  readonly pin: string
  readonly certificate: string
}

export interface MessagingApi {
  /** spec.md 4.3. */
  sendTemplate(credentials: Credentials, phoneNumberId: string, message: TemplateMessage): Promise<Accepted | Failed>
  /** spec.md 4.2. Each call counts towards 10 in 72 hours, a refused one too. */
  register(credentials: Credentials, phoneNumberId: string, registration: Registration): Promise<Registered | Failed>
  phoneNumber(credentials: Credentials, phoneNumberId: string): Promise<Answered<PhoneNumber> | Failed>
  /** What the token of `credentials` itself may do. */
  debugToken(credentials: Credentials): Promise<Answered<TokenInfo> | Failed>
  /** All templates of an account, or the failure of the first page that failed. */
  templates(credentials: Credentials, wabaId: string): Promise<Answered<CatalogueTemplate[]> | Failed>
  /** Waits for the calls that are on their way; later ones are `not_written`. */
  close(): Promise<void>
}

/** The external messaging API. No call rejects and none is repeated: each gives a value that says what happened. */
export const createMessagingApi = (options: MessagingApiOptions): MessagingApi => {
  const { version, product } = options
  const { call, close } = createWire(options)
  const pathTo = (id: string): string => `/${version}/${encodeURIComponent(id.toWellFormed())}`

  return {
    sendTemplate: (credentials, phoneNumberId, message) =>
      send(call, credentials, `${pathTo(phoneNumberId)}/messages`, templateBody(message, options)),
    register: (credentials, phoneNumberId, { pin, certificate }) =>
      register(call, credentials, `${pathTo(phoneNumberId)}/register`, {
        messaging_product: product,
        pin,
        certificate,
      }),
    phoneNumber: ({ accessToken }, phoneNumberId) =>
      call({ accessToken, path: `${pathTo(phoneNumberId)}?fields=${phoneNumberFields}`, read: readPhoneNumber }),
    debugToken: ({ accessToken }) => {
      const path = `/debug_token?input_token=${encodeURIComponent(accessToken.toWellFormed())}`
      return call({ accessToken, path, read: readTokenInfo })
    },
    templates: ({ accessToken }, wabaId) =>
      collectTemplates((query, read) =>
        call({ accessToken, path: `${pathTo(wabaId)}/message_templates?${query}`, read }),
      ),
    close,
  }
}

/** The body of spec.md 2.6, with our own id of the message for the webhooks. */
const templateBody = ({ to, template, callbackData }: TemplateMessage, options: MessagingApiOptions) => ({
  messaging_product: options.product,
  recipient_type: 'individual',
  to: `${options.plusPrefix ? '+' : ''}${to.replace(/^\+/, '')}`,
  type: 'template',
  biz_opaque_callback_data: callbackData,
  template: { name: template.name, language: { code: template.language.code }, components: template.components },
})

const send = async (
  call: Caller,
  { accessToken }: Credentials,
  path: string,
  body: ReturnType<typeof templateBody>,
): Promise<Accepted | Failed> => {
  const texts = body.template.components.flatMap(({ parameters }) => parameters.map(parameter => parameter.text))
  const carried = [body.to, body.to.replace('+', ''), ...texts]
  const answer = await call({ accessToken, path, body, read: readAcceptance, carried })
  if (answer.kind !== 'answered') return answer
  return { kind: 'accepted', ...answer.value, servedVersion: answer.servedVersion }
}

const register = async (
  call: Caller,
  { accessToken }: Credentials,
  path: string,
  body: Registration & { readonly messaging_product: string },
): Promise<Registered | Failed> => {
  const answer = await call({ accessToken, path, body, read: readSuccess, carried: [body.pin, body.certificate] })
  return answer.kind === 'answered' ? { kind: 'registered', servedVersion: answer.servedVersion } : answer
}
