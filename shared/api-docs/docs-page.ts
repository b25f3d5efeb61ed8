import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { escapeHtml } from '../escape-html.ts'

/** Whom a part of the documentation is for. */
export interface Audience {
  /** In the path. */
  name: string
  title: string
  description: string
  /** The groups of operations, in the order of the page. */
  tags: readonly string[]
  /** A request to begin with, as a shell takes it; `$URL` stands for the service's address. */
  quickStart?: string
}

const swaggerUi = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json')), 'static')
const own = join(import.meta.dirname, 'docs-page')
const css = 'text/css; charset=utf-8'
const script = 'text/javascript; charset=utf-8'

/** The files of the page by name. */
export const assets: Readonly<Record<string, { type: string; path: string }>> = {
  'swagger-ui.css': { type: css, path: join(swaggerUi, 'swagger-ui.css') },
  'swagger-ui-bundle.js': { type: script, path: join(swaggerUi, 'swagger-ui-bundle.js') },
  'page.css': { type: css, path: join(own, 'page.css') },
  'page.js': { type: script, path: join(own, 'page.js') },
}

export const readAsset = (name: string): Buffer | undefined => {
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
  return asset && readFileSync(asset.path)
}

const warning = 'This request is real: what it creates, changes or sends is not undone.'

interface Page {
  /** Of the service. */
  title: string
  description: string
  audiences: readonly Audience[]
  /** Without one, the page that lists them. */
  audience?: Audience | undefined
  /** From the page to `/docs/`. */
  base: string
  url: string
}

/** A page of the documentation. What it loads lies below `/docs/`. */
export const pageOf = ({ title, description, audiences, audience, base, url }: Page): string => {
  const linkTo = (each: Audience) =>
    `<a href="${base}${each.name}"${each === audience ? ' aria-current="page"' : ''}>${each.title}</a>`
  const body = audience ? referenceOf(audience, url) : listOf(audiences, description, linkTo, `${base}..`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(audience ? `${title} · ${audience.title}` : title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}assets/swagger-ui.css">
<link rel="stylesheet" href="${base}assets/page.css">
</head>
<body data-warning="${warning}"${audience ? ` data-reference="${base}${audience.name}/openapi.json"` : ''}>
<header><nav aria-label="Documentation"><strong>${escapeHtml(title)}</strong> ${audiences.map(linkTo).join(' ')}</nav></header>
<main>
${body}
</main>
${audience ? `<script src="${base}assets/swagger-ui-bundle.js"></script>\n<script src="${base}assets/page.js"></script>\n` : ''}</body>
</html>
`
}

const listOf = (
  audiences: readonly Audience[],
  description: string,
  linkTo: (each: Audience) => string,
  root: string,
): string =>
  `<h1>Documentation</h1>
<p>${escapeHtml(description)}</p>
<ul>${audiences.map(each => `<li>${linkTo(each)}: ${escapeHtml(each.description)}</li>`).join('\n')}</ul>
<p>For programs: <a href="${root}/openapi.json">openapi.json</a> describes all requests,
<a href="${root}/health/ready">health/ready</a> tells whether the service works.</p>`

const referenceOf = (audience: Audience, url: string): string => {
  const { description, quickStart } = audience
  const start =
    quickStart &&
    `<h2>Quick start</h2>\n<pre tabindex="0"><code>${escapeHtml(quickStart.replaceAll('$URL', url))}</code></pre>`
  return `<h1>${audience.title}</h1>
<p>${escapeHtml(description)}</p>
${start ?? ''}
<p class="notice">Requests that you send from this page are real. The page asks before it sends one that changes anything.</p>
<h2>Requests</h2>
<div id="reference"></div>
<noscript>The reference needs JavaScript; <code>${audience.name}/openapi.json</code> holds the same.</noscript>`
}
