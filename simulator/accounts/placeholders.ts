import type { Template, TemplateComponent } from './template.ts'

const placeholder = /\{\{\s*([a-z0-9_]+)\s*\}\}/g

/** Returns the distinct placeholders of a text, in order: `1`, `2` or names. */
export const placeholdersOf = (text: string | undefined): string[] => [
  ...new Set(Array.from((text ?? '').matchAll(placeholder), match => match[1] ?? '')),
]

export const hydrate = (text: string, value: (name: string) => string): string =>
  text.replace(placeholder, (_whole, name: string) => value(name))

/**
 * The placeholders and buttons that the parameters of a send are checked against. An absent part has no placeholders.
 */
export interface TemplateShape {
  header: TemplateComponent | undefined
  headerPlaceholders: string[]
  body: TemplateComponent | undefined
  bodyPlaceholders: string[]
  footer: TemplateComponent | undefined
  buttons: NonNullable<TemplateComponent['buttons']>
}

const shapes = new WeakMap<Template, TemplateShape>()

/** Computes the shape once for each template, since every send needs it. */
export const shapeOf = (template: Template): TemplateShape => {
  const known = shapes.get(template)
  if (known) return known
  const part = (type: TemplateComponent['type']) => template.components.find(component => component.type === type)
  const header = part('HEADER')
  const body = part('BODY')
  const shape = {
    header,
    headerPlaceholders: header?.format === undefined || header.format === 'TEXT' ? placeholdersOf(header?.text) : [],
    body,
    bodyPlaceholders: placeholdersOf(body?.text),
    footer: part('FOOTER'),
    buttons: part('BUTTONS')?.buttons ?? [],
  }
  shapes.set(template, shape)
  return shape
}
