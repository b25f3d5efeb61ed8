import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { ordersOperations } from '../contract/staff-roles.ts'

interface FaceOptions {
  /** Names the folder of the face's page, beside the kit that all faces share; `path` is where the page is served. */
  readonly face: 'console' | 'desk' | 'rider'
  readonly path: string
  /** Holds the address at which browsers reach orders. undefined: this service is orders. */
  readonly ordersUrl?: string
}

/**
 * Writes a policy that admits scripts and styles from our files, and requests to the two services. Nothing may write
 * HTML into the page. The rider's page also installs itself, and reads barcodes by WebAssembly.
 */
const writePolicy = (ordersUrl: string | undefined, isRider: boolean): string =>
  [
    "default-src 'none'",
    `script-src 'self'${isRider ? " 'wasm-unsafe-eval'" : ''}`,
    "style-src 'self'",
    "img-src 'self' blob:",
    ...(isRider ? ["manifest-src 'self'"] : []),
    `connect-src 'self'${ordersUrl ? ` ${new URL(ordersUrl).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The rider's page makes the address of its service worker, and nothing else, by this policy.
    `trusted-types ${isRider ? 'worker' : "'none'"}`,
  ].join('; ')

/** Serves a face of the portal: its page, its files and the kit. */
export const faceRoutes: FastifyPluginAsync<FaceOptions> = async (app, { face, path: root, ordersUrl }) => {
  const files = readFaceFiles(face)
  const headers = {
    'cache-control': 'no-cache',
    'content-security-policy': writePolicy(ordersUrl, face === 'rider'),
    'cross-origin-opener-policy': 'same-origin',
    ...(face === 'rider' && { 'permissions-policy': 'camera=(self), geolocation=(), microphone=()' }),
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
  }
  const schema = { hide: true }

  const serve = (path: string, request: FastifyRequest, reply: FastifyReply) => {
    const file = files.get(path)
    if (!file) return reply.callNotFound()
    reply.headers(headers).header('etag', file.etag)
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
    reply.type(file.type).header('vary', 'accept-encoding')
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.bytes)
    return reply.header('content-encoding', 'gzip').send(file.getPacked())
  }

  const page = `${face}/index.html`
  // The router ignores a final slash, but the page's own files are relative to the path with the slash.
  app.get(root, { schema }, async (request, reply) =>
    request.url.startsWith(`${root}/`) ? serve(page, request, reply) : reply.redirect(`${root.slice(1)}/`),
  )
  // The page hides what needs other operations. Orders says on its own which of its operations it leaves out for staff.
  app.get(`${root}/settings.json`, { schema }, async (_request, reply) => {
    const operations = [...app.operations, ...(ordersUrl ? ordersOperations : [])]
    return reply.headers(headers).send({ orders_url: ordersUrl ?? null, operations })
  })
  app.get<{ Params: { '*': string } }>(`${root}/*`, { schema }, async (request, reply) =>
    serve(request.params['*'], request, reply),
  )
}

interface FaceFile {
  readonly type: string
  readonly etag: string
  readonly bytes: Buffer
  readonly getPacked: () => Buffer
}

const folder = resolve(import.meta.dirname, '../../portal')
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
}
/** Holds Preact with its hooks and htm in one module without imports: otherwise the page would need an import map. */
const library = fileURLToPath(import.meta.resolve('htm/preact/standalone'))

const packFile = (extension: string, bytes: Buffer): FaceFile => {
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  const type = types[extension] ?? 'application/octet-stream'
  let packed: Buffer | undefined
  // Waits for the first request: a service that starts would otherwise compress every file of the portal.
  return { type, etag, bytes, getPacked: () => (packed ??= gzipSync(bytes)) }
}

/** Removes the comments that fill whole lines of a module. The lines keep their numbers, which errors name. */
const removeComments = (code: string): string => {
  let isInside = false
  const remove = (line: string): string => {
    const text = line.trim()
    const begins = text.startsWith('/**') && (text.endsWith('*/') || !text.includes('*/'))
    if (!isInside && !begins) return text.startsWith('//') ? '' : line
    isInside = !text.endsWith('*/')
    return ''
  }
  return code.split('\n').map(remove).join('\n')
}

const readFaceFile = (path: string): FaceFile => {
  const bytes = readFileSync(path)
  return packFile(extname(path), path.endsWith('.js') ? Buffer.from(removeComments(String(bytes))) : bytes)
}

/** Lists the languages in the order of a row of texts.json. */
const languages = ['en', 'si', 'ta']

/** Makes a module for each language from the tables of the kit and the face, whose texts replace the kit's. */
const readTexts = (face: string): [string, FaceFile][] => {
  const tables = ['kit', face].map(name => JSON.parse(readFileSync(join(folder, name, 'texts.json'), 'utf8')))
  const rows = Object.entries<string[]>(Object.assign({}, ...tables))
  return languages.map((language, at) => {
    const texts = JSON.stringify(Object.fromEntries(rows.map(([key, row]) => [key, row[at]])))
    return [`texts/${language}.js`, packFile('.js', Buffer.from(`export default ${texts}`))]
  })
}

/** Lists what the rider's page loads where the browser reads no barcodes on its own. */
const scannerFiles = {
  'scanner/ponyfill.js': 'barcode-detector/ponyfill',
  'scanner/zxing-exported.js': 'barcode-detector/ponyfill',
  'scanner/zxing_reader.wasm': 'zxing-wasm/reader/zxing_reader.wasm',
}

/**
 * Makes the service worker of the rider's page: the hash of each file by its path, which are the version of the page,
 * then portal/rider/worker.js. A file of `later` is kept once it is used.
 */
const makeWorker = (files: ReadonlyMap<string, FaceFile>): FaceFile => {
  const hash = (isLater: boolean) =>
    [...files].flatMap(([path, { etag }]) =>
      path.startsWith('scanner/') === isLater ? [[path === 'rider/index.html' ? '' : path, etag.slice(3, -1)]] : [],
    )
  const lists = Object.entries({ shell: hash(false), later: hash(true) }).map(
    ([name, list]) => `self.${name} = ${JSON.stringify(Object.fromEntries(list))}\n`,
  )
  return packFile('.js', Buffer.from(lists.join('') + readFileSync(join(folder, 'rider/worker.js'))))
}

const readRiderFiles = (): [string, FaceFile][] =>
  Object.entries(scannerFiles).map(([path, name]) => {
    const found = fileURLToPath(import.meta.resolve(name))
    return [path, readFaceFile(path.endsWith('.js') ? join(found, '..', basename(path)) : found)]
  })

const known = new Map<string, ReadonlyMap<string, FaceFile>>()

/**
 * Returns the files of a face and of the kit, by their path below its page; the folder's other files are not served. A
 * process reads them once.
 */
export const readFaceFiles = (face: string): ReadonlyMap<string, FaceFile> => {
  const files = known.get(face) ?? readFiles(face)
  known.set(face, files)
  return files
}

const readFiles = (face: string): ReadonlyMap<string, FaceFile> => {
  const paths = globSync(`{${face},kit}/**/*.{html,css,js,svg,png,webmanifest}`, { cwd: folder })
  const own = paths.map((path): [string, FaceFile] => [path, readFaceFile(join(folder, path))])
  const files = new Map([...own, ...readTexts(face), ['kit/preact.js', readFaceFile(library)] as const])
  if (face !== 'rider') return files
  files.delete('rider/worker.js')
  for (const [path, file] of readRiderFiles()) files.set(path, file)
  return files.set('worker.js', makeWorker(files))
}
