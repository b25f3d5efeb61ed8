import { placeholdersOf, shapeOf, type TemplateShape } from '../accounts/placeholders.ts'
import type { Button, Template } from '../accounts/template.ts'
import { GraphError } from '../graph/errors.ts'
import { fill } from '../messages/message.ts'
import type { Component, Parameter } from '../messages/schema.ts'

/** Types of a text parameter; the last two are legacy (docs/contributors/messaging-api.md#components). */
const textTypes = ['text', 'currency', 'date_time']

/**
 * Longest texts after filling (docs/contributors/messaging-api.md#components): header, body beside other parts, body
 * alone.
 */
const maxHeader = 60
const maxBody = 1024
const maxBodyAlone = 32_768

/** Checks the components of a send against the template; throws the API's error. */
export const checkParameters = (template: Template, components: Component[]): void => {
  const shape = shapeOf(template)
  for (const { type } of components)
    if (!['header', 'body', 'button'].includes(type.toLowerCase()))
      throw new GraphError(100, { details: `Unknown component type "${type.slice(0, 50)}"` })
  const header = parametersOf(components, 'header')
  const body = parametersOf(components, 'body')
  const isNamed = template.parameter_format === 'NAMED'
  const format = shape.header?.format ?? 'TEXT'
  if (format === 'TEXT') checkTexts('header', header, shape.headerPlaceholders, isNamed)
  else checkMedia(format, header)
  checkTexts('body', body, shape.bodyPlaceholders, isNamed)
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
  isNamed: boolean,
): void => {
  for (const parameter of parameters) checkText(part, parameter)
  if (parameters.length !== placeholders.length)
    throw new GraphError(132000, {
      details: `${part}: number of localizable_params (${parameters.length}) does not match the expected number of params (${placeholders.length})`,
    })
  if (!isNamed) return
  for (const name of placeholders)
    if (!parameters.some(({ parameter_name }) => parameter_name === name))
      throw new GraphError(100, { details: `${part}: Parameter name is missing or empty: ${name}` })
}

const checkText = (part: string, parameter: Parameter): void => {
  if (!textTypes.includes(parameter.type))
    throw new GraphError(132012, {
      details: `${part}: Format mismatch, expected TEXT, received ${parameter.type.slice(0, 50).toUpperCase()}`,
    })
  if (parameter.type !== 'text') return
  if (!parameter.text) throw new GraphError(131008, { details: 'Parameter of type text is missing text value' })
  if (/[\r\n\t]| {5}/.test(parameter.text))
    throw new GraphError(100, {
      details: 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces',
    })
}

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

const words: Record<string, string> = { URL: 'Url', COPY_CODE: 'CopyCode', QUICK_REPLY: 'QuickReply' }

/**
 * Checks the button components of a send against the template's buttons
 * (docs/contributors/messaging-api.md#components).
 */
const checkButtons = (buttons: Button[], components: Component[]): void => {
  const given = components.filter(({ type }) => type.toLowerCase() === 'button')
  for (const component of given) checkButton(buttons, component)
  for (const [index, button] of buttons.entries()) {
    const hasOne = given.some(component => Number(component.index) === index)
    if (needsParameter(button) && !hasOne)
      throw new GraphError(131008, {
        details: `buttons: Button at index ${index} of type ${words[button.type] ?? button.type} requires a parameter`,
      })
  }
}

const needsParameter = (button: Button): boolean =>
  button.type === 'COPY_CODE' || (button.type === 'URL' && placeholdersOf(button.url).length > 0)

const checkButton = (buttons: Button[], { index, sub_type, parameters = [] }: Component): void => {
  if (index === undefined) throw new GraphError(131008, { details: 'buttons: index is missing' })
  const button = buttons[Number(index)]
  if (!button) throw new GraphError(132000, { details: `buttons: There is no button at index ${index}` })
  if (sub_type?.toUpperCase() !== button.type)
    throw new GraphError(132012, {
      details: `buttons: Format mismatch at index ${index}, expected ${button.type}, received ${(sub_type ?? 'UNKNOWN').slice(0, 50).toUpperCase()}`,
    })
  const [parameter, second] = parameters
  if (!parameter || second)
    throw new GraphError(132000, {
      details: `buttons: number of localizable_params (${parameters.length}) does not match the expected number of params (1)`,
    })
  if (!(parameter.text || parameter.payload || parameter.coupon_code))
    throw new GraphError(131008, { details: `Parameter of type ${parameter.type.slice(0, 50)} is missing its value` })
}
