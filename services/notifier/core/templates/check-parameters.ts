import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { ButtonKind, Component, MessageTemplate, ParameterType } from '../messaging-api/message-template.ts'
import { type CatalogueTemplate, dissect, type HeaderKind, type TemplateButton } from './catalogue.ts'
import { render } from './render.ts'

type Add = (path: string, sentence: string) => void

/** A text accepts a currency and a time too (docs/contributors/messaging-api.md#components). */
const textTypes: readonly ParameterType[] = ['text', 'currency', 'date_time']

/** Lists the file types that the API accepts from an address (docs/contributors/messaging-api.md#components). */
const extensionsByKind: Partial<Record<HeaderKind, readonly string[]>> = {
  image: ['.jpg', '.jpeg', '.png'],
  video: ['.mp4', '.3gp'],
  document: ['.pdf'],
}

/** Checks a message against the catalogue; `known` holds the templates of its name in any language. */
export const checkTemplate = (
  known: readonly CatalogueTemplate[],
  message: MessageTemplate,
  prefix = 'template.',
): FieldErrors => {
  const { name, language } = message
  const template = known.find(other => other.name === name && other.language === language.code)
  if (template) return checkParameters(template, message, prefix)
  const languages = known.filter(other => other.name === name).map(other => other.language)
  if (languages.length === 0)
    return { [`${prefix}name`]: [`There is no template ${name} in the catalogue. If it is new, sync the templates.`] }
  const others = languages.sort().join(', ')
  return { [`${prefix}language.code`]: [`The template ${name} does not exist in ${language.code}, only in ${others}.`] }
}

/** Checks that a template may be sent and gets all its parameters (docs/contributors/messaging-api.md#components). */
export const checkParameters = (
  template: CatalogueTemplate,
  message: MessageTemplate,
  prefix = 'template.',
): FieldErrors => {
  const { components } = message
  const { headerKind, header, body, buttons, blockReason } = dissect(template)
  const refusal = findRefusal(template, blockReason)
  if (refusal) return { [`${prefix}name`]: [refusal] }
  const errors: FieldErrors = {}
  const add: Add = (path, sentence) => {
    errors[prefix + path] = [...(errors[prefix + path] ?? []), sentence]
  }
  const check = template.parameterFormat === 'NAMED' ? checkNames : checkCount
  // Leaves room for names of fields, which count as one character.
  const rendered = render(template, message, 2 * longest.alone)
  for (const [kind, variables] of [
    ['header', header],
    ['body', body],
  ] as const) {
    const index = components.findIndex(({ type }) => type === kind)
    const path = index < 0 ? 'components' : `components.${index}.parameters`
    const title = `The ${kind} of ${template.name}`
    const part: Part = { path, parameters: components[index]?.parameters ?? [], title }
    if (kind === 'header' && headerKind) checkMedia(headerKind, part, add)
    else {
      for (const [index, { type }] of part.parameters.entries())
        if (!textTypes.includes(type)) add(`${path}.${index}.type`, `${part.title} takes texts, not ${type}.`)
      check(part, variables, template.name, add)
      const isAlone = kind === 'body' && template.components.length === 1
      checkLength(part, rendered[kind] ?? '', longest[isAlone ? 'alone' : kind], add)
    }
    const second = components.findLastIndex(({ type }) => type === kind)
    if (second > index) add(`components.${second}.type`, `The ${kind} was given twice.`)
  }
  checkButtons(buttons, components, template.name, add)
  return errors
}

const findRefusal = (template: CatalogueTemplate, blockReason: string | undefined): string | undefined => {
  const title = `The template ${template.name} (${template.language})`
  if (blockReason) return `${title} has ${blockReason}, which cannot be sent from here.`
  if (template.status !== 'APPROVED') return `${title} is ${template.status}: only an APPROVED one may be sent.`
  if (template.heldAt)
    return `${title} is held: the messaging API refused it with code ${template.heldCode} on ${template.heldAt.toISOString()}. The hold ends once a sync or a webhook shows it as APPROVED.`
  return undefined
}

/** Holds a header or body as given; `title` names it in a sentence. */
interface Part {
  readonly path: string
  readonly parameters: Component['parameters']
  readonly title: string
}

const checkMedia = (kind: HeaderKind, { path, parameters, title }: Part, add: Add): void => {
  const [given, second] = parameters
  if (given?.type !== kind || second) return add(path, `${title} takes one parameter of type ${kind}.`)
  const link = kind === 'location' ? undefined : given[kind]?.link
  const extensions = extensionsByKind[kind]
  if (link === undefined || !extensions) return
  const file = URL.parse(link)?.pathname.toLowerCase() ?? ''
  if (!extensions.some(extension => file.endsWith(extension)))
    add(`${path}.0.${kind}.link`, `The ${kind} link must end in ${extensions.join(' or ')}.`)
}

/** Limits texts once filled (docs/contributors/messaging-api.md#components); `alone` is a body without other parts. */
const longest = { header: 60, body: 1024, alone: 32_768 }

/** Counts a field of an order in a rule as one character, its shortest value. */
const checkLength = ({ path, title }: Part, text: string, most: number, add: Add): void => {
  if (text.length <= most) return
  const { length } = [...text.replace(/\{\{[^{}]*\}\}/g, '-')]
  if (length <= most) return
  const [has, allowed] = [length, most].map(count => count.toLocaleString('en'))
  const way = 'shorten a parameter, or the text of the template.'
  add(path, `${title} has ${has} characters with its parameters, but at most ${allowed} are allowed: ${way}`)
}

const checkCount = ({ path, parameters, title }: Part, variables: readonly string[], template: string, add: Add) => {
  if (parameters.length !== variables.length)
    add(path, `${title} ${takes(variables.length)}, ${wereGiven(parameters.length)}.`)
  const named = parameters.findIndex(({ parameter_name }) => parameter_name !== undefined)
  if (named >= 0) add(`${path}.${named}.parameter_name`, `The parameters of ${template} have no names, only an order.`)
}

const checkNames = ({ path, parameters, title }: Part, variables: readonly string[], template: string, add: Add) => {
  const names = parameters.map(({ parameter_name }) => parameter_name)
  for (const [index, name] of names.entries()) {
    const at = `${path}.${index}.parameter_name`
    if (name === undefined) add(at, `The parameters of ${template} have names: this one needs its own.`)
    else if (names.indexOf(name) < index) add(at, `The parameter ${name} was given twice.`)
    else if (!variables.includes(name)) add(at, `${title} has no parameter ${name}.`)
  }
  const missing = variables.filter(name => !names.includes(name))
  const verb = missing.length === 1 ? 'was' : 'were'
  if (missing.length > 0) add(path, `${title} takes ${variables.join(', ')}; ${missing.join(', ')} ${verb} not given.`)
}

const typeByKind: Record<ButtonKind, ParameterType> = { quick_reply: 'payload', url: 'text', copy_code: 'coupon_code' }

/** Checks a send's buttons against its template's (docs/contributors/messaging-api.md#components). */
const checkButtons = (
  buttons: readonly TemplateButton[],
  components: readonly Component[],
  template: string,
  add: Add,
): void => {
  const given = [...components.entries()].filter(([, { type }]) => type === 'button')
  for (const [index, { kind, isRequired }] of buttons.entries())
    if (isRequired && kind !== 'other' && !given.some(([, component]) => Number(component.index) === index))
      add('components', `The button ${index} of ${template} takes a ${typeByKind[kind]}: none was given.`)
  for (const [position, { index, sub_type, parameters }] of given) {
    const path = `components.${position}`
    const button = buttons[Number(index)]
    const title = `The button ${index} of ${template}`
    const type = button && button.kind !== 'other' ? typeByKind[button.kind] : undefined
    if (index === undefined) add(`${path}.index`, 'The index field is required: the position of the button, from 0.')
    else if (!button) add(`${path}.index`, `${template} has no button ${index}.`)
    else if (type === undefined) add(path, `${title} takes nothing.`)
    else if (sub_type !== button.kind) add(`${path}.sub_type`, `${title} is a ${button.kind}.`)
    else if (parameters.length !== 1 || parameters[0]?.type !== type)
      add(`${path}.parameters`, `${title} takes one parameter of type ${type}.`)
  }
}

const takes = (count: number): string => {
  if (count === 0) return 'takes no parameters'
  return count === 1 ? 'takes 1 parameter' : `takes ${count} parameters`
}

const wereGiven = (count: number): string => (count === 1 ? '1 was given' : `${count} were given`)
