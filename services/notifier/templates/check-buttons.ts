import type { ButtonKind, Component, ParameterType } from '../messaging-api/message-template.ts'
import type { TemplateButton } from './catalogue.ts'

/** The type of value that each kind of button takes. */
const typeOf: Record<ButtonKind, ParameterType> = { quick_reply: 'payload', url: 'text', copy_code: 'coupon_code' }

type Finding = readonly [path: string, sentence: string]

/** Checks a send's buttons against its template's (docs/contributors/messaging-api.md#components). */
export const buttonErrors = (
  buttons: readonly TemplateButton[],
  components: readonly Component[],
  template: string,
): Finding[] => {
  const given = components.flatMap((component, c) =>
    component.type === 'button' ? [{ component, path: `components.${c}` }] : [],
  )
  const missing = buttons.flatMap(({ kind, isRequired }, index): Finding[] => {
    if (!isRequired || kind === 'other' || given.some(({ component }) => Number(component.index) === index)) return []
    return [['components', `The button ${index} of ${template} takes a ${typeOf[kind]}: none was given.`]]
  })
  return [...missing, ...given.flatMap(({ component, path }) => errorOf(buttons, component, path, template))]
}

const errorOf = (
  buttons: readonly TemplateButton[],
  { index, sub_type, parameters }: Component,
  path: string,
  template: string,
): Finding[] => {
  if (index === undefined) return [[`${path}.index`, 'The index field is required: the place of the button, from 0.']]
  const button = buttons[Number(index)]
  if (!button) return [[`${path}.index`, `${template} has no button ${index}.`]]
  if (button.kind === 'other') return [[path, `The button ${index} of ${template} takes nothing.`]]
  if (sub_type !== button.kind) return [[`${path}.sub_type`, `The button ${index} of ${template} is a ${button.kind}.`]]
  const type = typeOf[button.kind]
  if (parameters.length === 1 && parameters[0]?.type === type) return []
  return [[`${path}.parameters`, `The button ${index} of ${template} takes one parameter of type ${type}.`]]
}
