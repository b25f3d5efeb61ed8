import type { CatalogueTemplate, TemplatePage } from './account-answers.ts'
import { readTemplatePage } from './account-answers.ts'
import type { Answered, Failed } from './answers.ts'

type AskForPage = (
  query: string,
  read: (body: unknown) => TemplatePage | undefined,
) => Promise<Answered<TemplatePage> | Failed>

/** So few that a page of the longest templates is within the bytes of an answer. */
const pageSize = 25

/** An account has at most 6,000 templates. */
const mostPages = 1000

const fields = 'id,name,language,status,category,parameter_format,components'

/**
 * Asks for page after page by the cursor; `next`, an address that the answer gives, is never called: it leaves our base
 * address, and may carry the token. A list that breaks off is a failure, not a shorter list.
 */
export const collectTemplates = async (ask: AskForPage): Promise<Answered<CatalogueTemplate[]> | Failed> => {
  const templates: CatalogueTemplate[] = []
  const cursors = new Set<string>()
  let query = `fields=${fields}&limit=${pageSize}`
  while (cursors.size < mostPages) {
    const answer = await ask(query, readTemplatePage)
    if (answer.kind !== 'answered') return answer
    const { after } = answer.value
    templates.push(...answer.value.templates)
    if (after === null) return { ...answer, value: templates }
    if (after === undefined || cursors.has(after)) break
    cursors.add(after)
    query = `fields=${fields}&limit=${pageSize}&after=${encodeURIComponent(after)}`
  }
  return { kind: 'no_answer', reason: 'a list of templates whose cursors lead nowhere' }
}
