import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyPluginAsync } from 'fastify'

const hash = (content = ''): string => `'sha256-${createHash('sha256').update(content).digest('base64')}'`

/** Serves the page that shows the accepted messages. Its policy admits only its own style, script and requests. */
export const pageRoutes: FastifyPluginAsync = async app => {
  const html = await readFile(new URL('page.html', import.meta.url), 'utf8')
  const [, style, , script] = html.split(/<\/?style>|<script type="module">|<\/script>/)
  const policy = [
    "default-src 'none'",
    `style-src ${hash(style)}`,
    `script-src ${hash(script)} 'self'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const library = await readFile(fileURLToPath(import.meta.resolve('htm/preact/standalone')))
  app.get('/preact.js', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(library),
  )
  app.get('/', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('x-content-type-options', 'nosniff')
      .header('cache-control', 'no-cache')
      .send(html),
  )
}
