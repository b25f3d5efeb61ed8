import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { escapeHtml } from '../escape-html.ts'
import { type OpenApi, selectPart } from './openapi.ts'

export interface Audience {
  /** Names the page in its path. */
  name: string
  title: string
  description: string
  /** Lists the groups of operations, in the order of the page. */
  tags: readonly string[]
  /** Shows a first request as a shell command; `$URL` stands for the service's address. */
  quickStart?: string
}

interface Pages {
  title: string
  description: string
  audiences: readonly Audience[]
  document: () => OpenApi
  /** Holds the configured address of the service. */
  url: string | undefined
}

const readAsset = (filename: string) => ({
  filename,
  content: readFileSync(join(import.meta.dirname, 'docs-page', filename), 'utf8'),
})

/** Serves an audience's page: Swagger UI with that part of the document, only from files on this machine. */
export const serveAudience = async (app: FastifyInstance, pages: Pages, audience: Audience): Promise<void> => {
  const { document, url } = pages
  const path = `/docs/${audience.name}`
  const title = `${pages.title} · ${audience.title}`
  const address = url === undefined ? undefined : new URL(url)
  // The plugin decorates the instance in which it is registered, so each audience has its own instance.
  await app.register(async scope => {
    await scope.register(swaggerUi, {
      routePrefix: path,
      indexPrefix: address?.pathname ?? '/',
      // Requests that the page sends go to the configured URL.
      staticCSP: `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ${address?.origin ?? ''}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      theme: { title, css: [readAsset('page.css')], js: [readAsset('page.js')] },
      transformSpecification: (_whole, { publicUrl }) => {
        const part = selectPart(document(), audience.tags)
        return { ...part, info: { ...part.info, title, description: introduce(pages, audience, publicUrl) } }
      },
      transformSpecificationClone: false,
      uiConfig: {
        layout: 'BaseLayout',
        // Deep links would nest links in buttons.
        deepLinking: false,
        persistAuthorization: true,
        defaultModelsExpandDepth: -1,
        // The highlighting has colours with too little contrast.
        syntaxHighlight: false,
      },
    })
  })
}

/** Writes the text above the requests, in Markdown. */
const introduce = ({ audiences }: Pages, audience: Audience, publicUrl: string): string => {
  const { description, quickStart } = audience
  const others = audiences.filter(each => each !== audience)
  const links = others.map(({ name, title }) => `[${title}](${publicUrl}/docs/${name})`)
  return [
    description,
    ...(quickStart === undefined ? [] : [`\`\`\`sh\n${quickStart.replaceAll('$URL', publicUrl)}\n\`\`\``]),
    '**Requests that you send from this page are real.** The page asks before it sends one that changes anything.',
    ...(links.length > 0 ? [`Other requests: ${links.join(', ')}`] : []),
  ].join('\n\n')
}

/** Writes the page that lists the audiences. `base` leads from it to the root of the service. */
export const listAudiences = ({ title, description, audiences }: Pages, base: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}docs/${audiences[0]?.name}/static/theme/page.css">
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(description)}</p>
<ul>${audiences.map(each => writeLink(each, base)).join('\n')}</ul>
<p>For programs: <a href="${base}openapi.json">openapi.json</a> describes all requests, and
<a href="${base}health/ready">health/ready</a> says whether the service works.</p>
</main>
</body>
</html>
`

const writeLink = ({ name, title, description }: Audience, base: string): string =>
  `<li><a href="${base}docs/${name}">${title}</a>: ${escapeHtml(description)}</li>`
