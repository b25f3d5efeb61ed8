import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'

const hashOf = (html: string, tag: 'style' | 'script'): string => {
  const content = html.split(`<${tag}>`)[1]?.split(`</${tag}>`)[0] ?? ''
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`
}

/** The page that shows the accepted messages. Its policy admits only its own style, script and requests. */
export const page: FastifyPluginAsync = async app => {
  const html = await readFile(new URL('page.html', import.meta.url), 'utf8')
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(html, 'style')}`,
    `script-src ${hashOf(html, 'script')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  app.get('/', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('x-content-type-options', 'nosniff')
      .header('cache-control', 'no-cache')
      .send(html),
  )
}
