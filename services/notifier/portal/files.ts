import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

interface PortalFile {
  readonly type: string
  readonly etag: string
  readonly bytes: Buffer
}

const folder = resolve(import.meta.dirname, '../../../portal')
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Preact with its hooks and htm in one module without imports: otherwise the page would need an import map. */
const library = fileURLToPath(import.meta.resolve('htm/preact/standalone'))

const readPortalFile = (path: string): PortalFile => {
  const bytes = readFileSync(path)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type: types[extname(path)] ?? 'application/octet-stream', etag, bytes }
}

/** Reads the files of the console, by their path below `/portal/`; the folder's other files are not served. */
export const readPortalFiles = (): ReadonlyMap<string, PortalFile> => {
  const paths = globSync('**/*.{html,css,js,svg}', { cwd: folder })
  const own = paths.map((path): [string, PortalFile] => [path, readPortalFile(join(folder, path))])
  return new Map([...own, ['preact.js', readPortalFile(library)]])
}
