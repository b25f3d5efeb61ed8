import { sendBytes, type WireResponse } from './wire.ts'

export type Fields = Record<string, unknown>

interface Sent {
  query?: Fields
  body?: unknown
  token?: string
}

/** Describes a widely used HTTP client: how it writes a request, byte for byte. */
export interface Program {
  readonly name: string
  /** Holds the usual form of a bare `noPagination` in this program. */
  readonly wholeList: Fields
  send(base: string, method: string, path: string, sent?: Sent): Promise<WireResponse>
}

type Header = readonly [string, string]
const writeBearer = (name: string, token?: string): Header[] => (token ? [[name, `Bearer ${token}`]] : [])
const withQuery = (path: string, query: string): string => (query ? `${path}?${query}` : path)

/** PHP's http_build_query escapes brackets, writes a blank as a plus and true as 1, and leaves null out. */
const writePhpQuery = (query: Fields): string =>
  Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined)
    .flatMap(([name, value]) =>
      typeof value === 'object'
        ? Object.entries(value as Fields).map(([key, inner]) => [`${name}[${key}]`, inner])
        : [[name, value === true ? 1 : value === false ? 0 : value]],
    )
    .map(([name, value]) => `${phpEncode(String(name))}=${phpEncode(String(value))}`)
    .join('&')
const phpEncode = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** PHP's json_encode escapes slashes and everything beyond ASCII. */
const writePhpJson = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Acts as Laravel's `Http::withToken($token)->withHeaders([...])->send($method, $url)`: even a GET may have a body. */
export const laravel: Program = {
  name: "Laravel's Http",
  wholeList: { noPagination: 1 },
  send: (base, method, path, { query = {}, body, token } = {}) =>
    sendBytes(
      base,
      `${method} ${withQuery(path, writePhpQuery(query))}`,
      [
        ['User-Agent', 'GuzzleHttp/7'],
        ['Accept', 'application/json'],
        ['X-tenant', 'demo'],
        ...writeBearer('Authorization', token),
        ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
      ],
      body === undefined ? undefined : writePhpJson(body),
    ),
}

/** axios' params keep the brackets of nested names. Adds a cache buster, as many programs do. */
const writeAxiosQuery = (query: Fields): string =>
  Object.entries({ ...query, _: 1771527983000 })
    .flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([key, inner]) => [`${name}[${key}]`, inner])
        : [[name, value]],
    )
    .map(([name, value]) => `${axiosEncode(String(name))}=${axiosEncode(String(value))}`)
    .join('&')
const axiosEncode = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replaceAll('%3A', ':')
    .replaceAll('%24', '$')
    .replaceAll('%2C', ',')
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']')

export const axios: Program = {
  name: 'axios in Node',
  wholeList: { noPagination: '' },
  send: (base, method, path, { query = {}, body, token } = {}) =>
    sendBytes(
      base,
      `${method} ${withQuery(path, writeAxiosQuery(query))}`,
      [
        ['Accept', 'application/json, text/plain, */*'],
        ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
        ['X-Tenant', 'demo'],
        ...writeBearer('Authorization', token),
        ['User-Agent', 'axios/1.7.9'],
        ['Accept-Encoding', 'gzip, compress, deflate, br'],
      ],
      body === undefined ? undefined : JSON.stringify(body),
    ),
}

/** Dart's http package writes header names in lower case, and the charset beside the type. */
export const dart: Program = {
  name: "Dart's http",
  wholeList: { noPagination: 'true' },
  send: (base, method, path, { query = {}, body, token } = {}) =>
    sendBytes(
      base,
      `${method} ${withQuery(path, writePhpQuery(query))}`,
      [
        ['user-agent', 'Dart/3.6 (dart:io)'],
        ['accept-encoding', 'gzip'],
        ['accept', 'application/json'],
        ['x-tenant', 'demo'],
        ...writeBearer('authorization', token),
        ['content-type', 'application/json; charset=utf-8'],
      ],
      body === undefined ? undefined : JSON.stringify(body),
    ),
}

/** Acts as fetch in a page at https://shop.example. */
export const page: Program = {
  name: 'a page with fetch',
  wholeList: { noPagination: 'true' },
  send: (base, method, path, { query = {}, body, token } = {}) =>
    sendBytes(
      base,
      `${method} ${withQuery(path, new URLSearchParams(query as Record<string, string>).toString())}`,
      [
        [
          'User-Agent',
          'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
        ],
        ['Accept', '*/*'],
        ['Accept-Language', 'en-US,en;q=0.9'],
        ['x-tenant', 'demo'],
        ...writeBearer('authorization', token),
        ...(body === undefined ? [] : [['content-type', 'application/json'] as const]),
        ['Origin', 'https://shop.example'],
        ['Sec-Fetch-Mode', 'cors'],
        ['Sec-Fetch-Site', 'cross-site'],
        ['Sec-Fetch-Dest', 'empty'],
        ['Referer', 'https://shop.example/'],
      ],
      body === undefined ? undefined : JSON.stringify(body),
    ),
}

export const programs = [laravel, axios, dart, page]
