import { GraphError } from '../graph/errors.ts'
import { placeholdersOf } from '../templates/placeholders.ts'
import type { Button } from '../templates/template.ts'
import type { Component } from './schema.ts'

const words: Record<string, string> = { URL: 'Url', COPY_CODE: 'CopyCode', QUICK_REPLY: 'QuickReply' }

/** Holds the button components of a send against the template's buttons (messaging-api 1.2, 6). */
export const checkButtons = (buttons: Button[], components: Component[]): void => {
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
