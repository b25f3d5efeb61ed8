import { GraphError } from '../graph/errors.ts'
import { isFrom } from '../graph/version.ts'
import { shapeOf, type TemplateShape } from '../templates/placeholders.ts'
import type { Template } from '../templates/template.ts'
import { checkButtons } from './check-buttons.ts'
import { fill } from './message.ts'
import type { Component, Parameter } from './schema.ts'

/** Types of a text parameter; the last two are legacy (messaging-api 1.2). */
const textTypes = ['text', 'currency', 'date_time']

/** Longest texts after filling (messaging-api 1.2, 7): header, body beside other parts, body alone. */
const maxHeader = 60
const maxBody = 1024
const maxBodyAlone = 32_768

/** Holds the components of a send against the template; throws what `version` of the API answers. */
export const checkParameters = (template: Template, components: Component[], version: string): void => {
  const shape = shapeOf(template)
  for (const { type } of components)
    if (!['header', 'body', 'button'].includes(type.toLowerCase()))
      throw new GraphError(100, { details: `Unknown component type "${type.slice(0, 50)}"` })
  const header = parametersOf(components, 'header')
  const body = parametersOf(components, 'body')
  const isNamed = template.parameter_format === 'NAMED'
  const format = shape.header?.format ?? 'TEXT'
  if (format === 'TEXT') checkTexts('header', header, shape.headerPlaceholders, { isNamed, version })
  else checkMedia(format, header)
  checkTexts('body', body, shape.bodyPlaceholders, { isNamed, version })
  checkButtons(shape.buttons, components)
  checkLengths(shape, header, body)
}

const parametersOf = (components: Component[], type: string): Parameter[] => {
  const [component, second] = components.filter(component => component.type.toLowerCase() === type)
  if (second) throw new GraphError(100, { details: `There is more than one ${type} component` })
  return component?.parameters ?? []
}

const checkTexts = (
  part: 'header' | 'body',
  parameters: Parameter[],
  placeholders: string[],
  { isNamed, version }: { isNamed: boolean; version: string },
): void => {
  for (const parameter of parameters) checkText(part, parameter, version)
  if (parameters.length !== placeholders.length)
    throw new GraphError(132000, {
      details: `${part}: number of localizable_params (${parameters.length}) does not match the expected number of params (${placeholders.length})`,
    })
  if (!isNamed) return
  for (const name of placeholders)
    if (!parameters.some(({ parameter_name }) => parameter_name === name))
      throw parameterFault(version, `${part}: Parameter name is missing or empty: ${name}`)
}

const checkText = (part: string, parameter: Parameter, version: string): void => {
  if (!textTypes.includes(parameter.type))
    throw new GraphError(132012, {
      details: `${part}: Format mismatch, expected TEXT, received ${parameter.type.slice(0, 50).toUpperCase()}`,
    })
  if (parameter.type !== 'text') return
  if (!parameter.text) throw new GraphError(131008, { details: 'Parameter of type text is missing text value' })
  if (/[\r\n\t]| {5}/.test(parameter.text))
    throw parameterFault(version, 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces')
}

/** Faults in a parameter have a code of their own from v23 on (messaging-api 8). */
const parameterFault = (version: string, details: string): GraphError =>
  new GraphError(isFrom(version, 'v23.0') ? 132018 : 100, { details })

const checkMedia = (format: string, [given, second]: Parameter[]): void => {
  const received = given?.type.slice(0, 50).toUpperCase() ?? 'UNKNOWN'
  if (received !== format || second)
    throw new GraphError(132012, { details: `header: Format mismatch, expected ${format}, received ${received}` })
  const kind = format.toLowerCase() as 'image' | 'document' | 'video' | 'location'
  const value = given?.[kind]
  if (!value || (kind !== 'location' && !('id' in value) && !('link' in value)))
    throw new GraphError(131008, { details: `Parameter of type ${kind} is missing ${kind} value` })
}

const checkLengths = (shape: TemplateShape, header: Parameter[], body: Parameter[]): void => {
  const isAlone = !shape.header && !shape.footer && shape.buttons.length === 0
  if (fill(shape.body?.text ?? '', body).length > (isAlone ? maxBodyAlone : maxBody))
    throw new GraphError(132005, { details: 'body: Translated text too long' })
  if (fill(shape.header?.text ?? '', header).length > maxHeader)
    throw new GraphError(132005, { details: 'header: Translated text too long' })
}
