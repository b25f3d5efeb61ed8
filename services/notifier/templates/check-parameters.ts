import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { MessageTemplate, ParameterType } from '../messaging-api/message-template.ts'
import { anatomyOf, type CatalogueTemplate, type HeaderKind } from './catalogue.ts'
import { buttonErrors } from './check-buttons.ts'

type Kind = 'header' | 'body'

/** A text accepts a currency and a time too (docs/contributors/messaging-api.md#components). */
const textTypes: readonly ParameterType[] = ['text', 'currency', 'date_time']

/** The file types that the API accepts from an address (docs/contributors/messaging-api.md#components). */
const extensionsOf: Partial<Record<HeaderKind, readonly string[]>> = {
  image: ['.jpg', '.jpeg', '.png'],
  video: ['.mp4', '.3gp'],
  document: ['.pdf'],
}

/**
 * Returns the errors of a message by its account's catalogue: `known` holds the templates of its name, in any language.
 * Paths begin with `prefix`.
 */
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
  const refusal = whyNotSendable(template)
  if (refusal) return { [`${prefix}name`]: [refusal] }
  const findings = new Findings(prefix, message)
  const { headerKind, header, body, buttons } = anatomyOf(template)
  for (const [kind, variables] of [['header', header] as const, ['body', body] as const]) {
    const part = { kind, variables, template: template.name }
    if (kind === 'header' && headerKind) findings.checkMedia(headerKind, template.name)
    else if (template.parameterFormat === 'NAMED') findings.checkNames(part)
    else findings.checkCount(part)
    findings.refuseSecond(kind)
  }
  for (const [path, sentence] of buttonErrors(buttons, message.components, template.name)) findings.add(path, sentence)
  return findings.errors
}

const whyNotSendable = (template: CatalogueTemplate): string | undefined => {
  const title = `The template ${template.name} (${template.language})`
  const { blockReason } = anatomyOf(template)
  if (blockReason) return `${title} has ${blockReason}, which cannot be sent from here.`
  if (template.status !== 'APPROVED') return `${title} is ${template.status}: only an APPROVED one may be sent.`
  if (template.heldAt)
    return `${title} is held: the messaging API refused it with code ${template.heldCode} on ${template.heldAt.toISOString()}. It is free again once a sync finds it APPROVED.`
  return undefined
}

interface Part {
  readonly kind: Kind
  readonly variables: readonly string[]
  /** The name of the template. */
  readonly template: string
}

class Findings {
  readonly errors: FieldErrors = {}
  readonly #prefix: string
  readonly #components: MessageTemplate['components']

  constructor(prefix: string, { components }: MessageTemplate) {
    this.#prefix = prefix
    this.#components = components
  }

  add(path: string, sentence: string): void {
    this.errors[this.#prefix + path] = [...(this.errors[this.#prefix + path] ?? []), sentence]
  }

  #given(kind: Kind) {
    const index = this.#components.findIndex(component => component.type === kind)
    const path = index < 0 ? 'components' : `components.${index}.parameters`
    return { path, parameters: this.#components[index]?.parameters ?? [] }
  }

  checkMedia(kind: HeaderKind, template: string): void {
    const { path, parameters } = this.#given('header')
    const [given, second] = parameters
    if (given?.type !== kind || second)
      return this.add(path, `The header of ${template} takes one parameter of type ${kind}.`)
    const link = kind === 'location' ? undefined : given[kind]?.link
    const extensions = extensionsOf[kind]
    if (link === undefined || !extensions) return
    const file = URL.parse(link)?.pathname.toLowerCase() ?? ''
    if (!extensions.some(extension => file.endsWith(extension)))
      this.add(`${path}.0.${kind}.link`, `The ${kind} link must end in ${extensions.join(' or ')}.`)
  }

  #refuseOtherTypes(kind: Kind, template: string): void {
    const { path, parameters } = this.#given(kind)
    for (const [index, { type }] of parameters.entries())
      if (!textTypes.includes(type))
        this.add(`${path}.${index}.type`, `The ${kind} of ${template} takes texts, no ${type}.`)
  }

  checkCount({ kind, variables, template }: Part): void {
    this.#refuseOtherTypes(kind, template)
    const { path, parameters } = this.#given(kind)
    if (parameters.length !== variables.length)
      this.add(path, `The ${kind} of ${template} ${takes(variables.length)}, ${wereGiven(parameters.length)}.`)
    const named = parameters.findIndex(({ parameter_name }) => parameter_name !== undefined)
    if (named >= 0)
      this.add(`${path}.${named}.parameter_name`, `The parameters of ${template} have no names, only an order.`)
  }

  checkNames({ kind, variables, template }: Part): void {
    this.#refuseOtherTypes(kind, template)
    const { path, parameters } = this.#given(kind)
    const seen = new Set<string>()
    for (const [index, { parameter_name: name }] of parameters.entries()) {
      if (name === undefined)
        this.add(`${path}.${index}.parameter_name`, `The parameters of ${template} have names: this one needs its own.`)
      else if (seen.has(name)) this.add(`${path}.${index}.parameter_name`, `The parameter ${name} was given twice.`)
      else if (!variables.includes(name))
        this.add(`${path}.${index}.parameter_name`, `The ${kind} of ${template} has no parameter ${name}.`)
      if (name !== undefined) seen.add(name)
    }
    const missing = variables.filter(name => !seen.has(name))
    if (missing.length > 0)
      this.add(
        path,
        `The ${kind} of ${template} takes ${variables.join(', ')}; ${missing.join(', ')} ${missing.length === 1 ? 'was' : 'were'} not given.`,
      )
  }

  refuseSecond(kind: Kind): void {
    const second = this.#components.findLastIndex(component => component.type === kind)
    if (second > this.#components.findIndex(component => component.type === kind))
      this.add(`components.${second}.type`, `The ${kind} was given twice.`)
  }
}

const takes = (count: number): string => {
  if (count === 0) return 'takes no parameters'
  return count === 1 ? 'takes 1 parameter' : `takes ${count} parameters`
}

const wereGiven = (count: number): string => (count === 1 ? '1 was given' : `${count} were given`)
