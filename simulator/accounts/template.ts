export interface Button {
  type: string
  text: string
  url?: string
}

/** Describes a part of a template as the catalogue lists it, with upper-case words; a send has lower-case words. */
export interface TemplateComponent {
  type: 'HEADER' | 'BODY' | 'FOOTER' | 'BUTTONS'
  format?: 'TEXT' | 'IMAGE' | 'VIDEO' | 'DOCUMENT' | 'LOCATION'
  text?: string
  example?: object
  buttons?: Button[]
}

/** See docs/contributors/messaging-api.md#templates. */
export interface Template {
  id: string
  name: string
  language: string
  status: 'APPROVED' | 'PAUSED' | 'REJECTED'
  category: 'MARKETING' | 'UTILITY' | 'AUTHENTICATION'
  parameter_format: 'POSITIONAL' | 'NAMED'
  components: TemplateComponent[]
  quality_score?: { score: string }
  rejected_reason?: string
}

/** Returns the key of a template: `order_created` exists once in each language. */
export const toKey = ({ name, language }: Pick<Template, 'name' | 'language'>): string => `${name}/${language}`

/** Returns the part of that type, and the distinct placeholders of its text in order: `1`, `2` or names. */
export const findPart = ({ components }: Template, type: TemplateComponent['type']) => {
  const component = components.find(component => component.type === type)
  return { ...component, placeholders: listPlaceholders(component?.text) }
}

export const listButtons = (template: Template): Button[] => findPart(template, 'BUTTONS').buttons ?? []

const placeholder = /\{\{\s*([a-z0-9_]+)\s*\}\}/g

export const listPlaceholders = (text = ''): string[] => [
  ...new Set(Array.from(text.matchAll(placeholder), match => match[1] ?? '')),
]

export const hydrate = (text: string, value: (name: string) => string): string =>
  text.replace(placeholder, (_whole, name: string) => value(name))
