import { type Button, findPart, listButtons, listPlaceholders, type Template } from '../accounts/template.ts'
import { GraphError } from '../graph/errors.ts'
import type { Component, Parameter } from '../messages/bodies.ts'
import { fill } from '../messages/message.ts'

/** Lists the types of a text parameter; the last two are legacy (docs/contributors/messaging-api.md#components). */
const textTypes = ['text', 'currency', 'date_time']

/**
 * Limits texts after filling (docs/contributors/messaging-api.md#components); `alone` is a body without other parts.
 */
const longest = { header: 60, body: 1024, alone: 32_768 }

const refuse = (code: number, details: string): never => {
  throw new GraphError(code, { details })
}

/** Checks the components of a send against the template; throws the API's error. */
export const checkParameters = (template: Template, components: Component[]): void => {
  for (const { type } of components)
    if (!['header', 'body', 'button'].includes(type.toLowerCase()))
      refuse(100, `Unknown component type "${type.slice(0, 50)}"`)
  for (const part of ['header', 'body'] as const) checkPart(template, part, components)
  checkButtons(listButtons(template), components)
}

const checkPart = (template: Template, part: 'header' | 'body', components: Component[]): void => {
  const [component, second] = components.filter(({ type }) => type.toLowerCase() === part)
  if (second) refuse(100, `There is more than one ${part} component`)
  const parameters = component?.parameters ?? []
  const { format = 'TEXT', text = '', placeholders } = findPart(template, part === 'header' ? 'HEADER' : 'BODY')
  if (format !== 'TEXT') return checkMedia(format, parameters)
  for (const parameter of parameters) checkText(part, parameter)
  const [given, expected] = [parameters.length, placeholders.length]
  if (given !== expected)
    refuse(
      132000,
      `${part}: number of localizable_params (${given}) does not match the expected number of params (${expected})`,
    )
  if (template.parameter_format === 'NAMED')
    for (const name of placeholders)
      if (!parameters.some(({ parameter_name }) => parameter_name === name))
        refuse(100, `${part}: Parameter name is missing or empty: ${name}`)
  const isAlone = part === 'body' && template.components.length === 1
  if (fill(text, parameters).length > longest[isAlone ? 'alone' : part])
    refuse(132005, `${part}: Translated text too long`)
}

const checkText = (part: string, { type, text }: Parameter): void => {
  if (!textTypes.includes(type)) refuse(132012, `${part}: Format mismatch, expected TEXT, received ${show(type)}`)
  if (type !== 'text') return
  if (!text) return refuse(131008, 'Parameter of type text is missing text value')
  if (/[\r\n\t]| {5}/.test(text))
    refuse(100, 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces')
}

const show = (type = 'UNKNOWN'): string => type.slice(0, 50).toUpperCase()

const checkMedia = (format: string, [given, second]: Parameter[]): void => {
  const received = show(given?.type)
  if (received !== format || second) refuse(132012, `header: Format mismatch, expected ${format}, received ${received}`)
  const kind = format.toLowerCase() as 'image' | 'document' | 'video' | 'location'
  const value = given?.[kind]
  if (!value || (kind !== 'location' && !('id' in value) && !('link' in value)))
    refuse(131008, `Parameter of type ${kind} is missing ${kind} value`)
}

const words: Record<string, string> = { URL: 'Url', COPY_CODE: 'CopyCode' }

/** Checks the buttons of a send against the template's (docs/contributors/messaging-api.md#components). */
const checkButtons = (buttons: Button[], components: Component[]): void => {
  const given = components.filter(({ type }) => type.toLowerCase() === 'button')
  for (const component of given) checkButton(buttons, component)
  for (const [index, { type, url }] of buttons.entries()) {
    const needsParameter = type === 'COPY_CODE' || (type === 'URL' && listPlaceholders(url).length > 0)
    if (needsParameter && !given.some(component => Number(component.index) === index))
      refuse(131008, `buttons: Button at index ${index} of type ${words[type]} requires a parameter`)
  }
}

const checkButton = (buttons: Button[], { index, sub_type, parameters = [] }: Component): void => {
  if (index === undefined) return refuse(131008, 'buttons: index is missing')
  const button = buttons[Number(index)]
  if (!button) return refuse(132000, `buttons: There is no button at index ${index}`)
  if (sub_type?.toUpperCase() !== button.type)
    refuse(132012, `buttons: Format mismatch at index ${index}, expected ${button.type}, received ${show(sub_type)}`)
  const [parameter, second] = parameters
  if (!parameter || second)
    return refuse(
      132000,
      `buttons: number of localizable_params (${parameters.length}) does not match the expected number of params (1)`,
    )
  if (!(parameter.text || parameter.payload || parameter.coupon_code))
    refuse(131008, `Parameter of type ${parameter.type.slice(0, 50)} is missing its value`)
}
