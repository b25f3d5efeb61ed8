import { globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Audience } from './description.ts'

const folder = resolve(import.meta.dirname, '../../docs')
let paths: readonly string[] | undefined
/** Lists the pages of docs/. A process looks for them once. */
const findPages = (): readonly string[] => (paths ??= globSync('**/*.md', { cwd: folder }))

const hidden = { schema: { hide: true } }

interface Start {
  readonly title: string
  readonly description: string
  /** Lists the pages of docs/ to read first, such as merchants/contract. */
  readonly pages: readonly string[]
  readonly audiences: readonly Audience[]
}

/** Serves each page of docs/ as Markdown, below /docs/, and /llms.txt, which says where a program begins to read. */
export const servePages = (app: FastifyInstance, start: Start): void => {
  // Only the paths of these files are routes, so no path leads elsewhere.
  for (const path of findPages())
    app.get(`/docs/${path}`, hidden, async (_request, reply: FastifyReply) =>
      reply.type('text/markdown; charset=utf-8').send(await readFile(join(folder, path))),
    )
  let titles: readonly string[] | undefined
  app.get('/llms.txt', hidden, (request, reply: FastifyReply) => {
    titles ??= start.pages.map(readTitle)
    return reply.type('text/plain; charset=utf-8').send(listPages(start, titles, request))
  })
}

/** Writes the list in the form of llmstxt.org. */
const listPages = (
  { title, description, pages, audiences }: Start,
  titles: readonly string[],
  { publicUrl }: FastifyRequest,
): string => {
  const read = pages.map((page, index) => `- [${titles[index]}](${publicUrl}/docs/${page}.md)`)
  const documents = audiences.map(each => `- [${each.title}](${publicUrl}/docs/${each.name}/json): ${each.description}`)
  const all = `- [All requests](${publicUrl}/openapi.json)`
  return [`# ${title}`, `> ${description}`, '## Pages', read.join('\n'), '## OpenAPI', [all, ...documents].join('\n')]
    .join('\n\n')
    .concat('\n')
}

const readTitle = (page: string): string =>
  readFileSync(join(folder, `${page}.md`), 'utf8')
    .slice(2)
    .split('\n', 1)[0] ?? ''
