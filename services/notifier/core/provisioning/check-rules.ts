import { isMerchantEvent, takenBackEvent } from '@courier/shared/contract/order-events.ts'
import type { Rule } from '../events/queries.ts'
import { nameRule } from '../events/rules.ts'
import { placeholderError } from '../messages/placeholders.ts'
import type { ButtonKind, Component, Parameter } from '../messaging-api/message-template.ts'
import type { Add, FileParts } from './file-part.ts'
import type { GivenRule, NotifierFile } from './notifier-file.ts'

/** A request carries up to 500 events, and all their messages must be written before its timeout. */
const maxRulesOfEvent = 5

export const checkRules = ({ rules = [] }: NotifierFile, parts: FileParts, add: Add): void => {
  const names = rules.map(rule => nameRule(toRule(rule, parts)))
  const events = rules.map(({ on }) => on)
  for (const [index, rule] of rules.entries()) {
    if (events.slice(0, index).filter(on => on === rule.on).length >= maxRulesOfEvent)
      add(`rules.${index}.on`, `At most ${maxRulesOfEvent} rules may be on ${rule.on}.`)
    checkHours(rule.send_between, `rules.${index}`, add)
    for (const [position, event] of (rule.supersedes ?? []).entries())
      if (!events.includes(event)) add(`rules.${index}.supersedes.${position}`, `No rule is on ${event}.`)
    if (names.indexOf(names[index] as string) < index) add(`rules.${index}`, `The rule ${names[index]} is there twice.`)
    checkContent(rule, `rules.${index}`, add)
    checkButtons(rule, `rules.${index}`, add)
    checkPlaceholders(rule, `rules.${index}`, add, rule.on, isPerPerson(rule, parts))
    if (isMerchantEvent(rule.on)) checkMerchantRule(rule, `rules.${index}`, add)
    if (rule.body && rule.named_body) add(`rules.${index}`, 'A rule has one body: body or named_body.')
    if (listMedia(rule).length + Number((rule.header ?? []).length > 0) > 1)
      add(
        `rules.${index}`,
        'A rule has one header: header, header_image, header_video, header_document or header_location.',
      )
  }
}

const mediaFields = ['header_image', 'header_video', 'header_document', 'header_location'] as const
const templateFields = ['template', 'language', 'header', 'body', 'named_body', 'buttons', ...mediaFields] as const

const checkContent = (rule: GivenRule, path: string, add: Add): void => {
  if (rule.text === undefined) {
    if (rule.template === undefined) add(`${path}.template`, 'A rule has a template and its language, or a text.')
    else if (rule.language === undefined) add(`${path}.language`, 'The language field is required.')
  } else
    for (const field of templateFields)
      if (rule[field] !== undefined) add(`${path}.${field}`, 'A rule with a text has no template.')
}

/**
 * Refuses a repeated index, and the action whose acceptance would have the name of the event for a move that staff take
 * back.
 */
const checkButtons = ({ buttons = [] }: GivenRule, path: string, add: Add): void => {
  for (const [position, { index, action }] of buttons.entries()) {
    if (`${action}.accepted` === takenBackEvent)
      add(`${path}.buttons.${position}.action`, `No request is named ${action}: staff take moves back.`)
    if (buttons.findIndex(button => button.index === index) < position)
      add(`${path}.buttons.${position}.index`, `The button ${index} was given twice.`)
  }
}

export const checkHours = (between: string[] | undefined, path: string, add: Add): void => {
  if (between && (between[0] === between[1] || between[0] === '24:00'))
    add(`${path}.send_between`, 'The send between field must be two different times; only the end may be 24:00.')
}

/** Matches the paths of texts, as opposed to addresses and payloads. */
const textPath = /^rules\.\d+\.(header|body|named_body|text)(\.|$)/

const checkPlaceholders = (value: unknown, path: string, add: Add, event: string, isPerPerson: boolean): void => {
  if (typeof value === 'string') {
    const error = placeholderError(value, event, isPerPerson && textPath.test(path))
    if (error) add(path, error)
  } else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value))
      checkPlaceholders(inner, `${path}.${name}`, add, event, isPerPerson)
}

/** Checks a rule that writes to merchants: without a parcel, it supersedes no messages and offers no actions. */
const checkMerchantRule = ({ on, supersedes, buttons = [] }: GivenRule, path: string, add: Add): void => {
  if (supersedes) add(`${path}.supersedes`, `A rule on ${on} supersedes no messages.`)
  for (const [position, { action }] of buttons.entries())
    if (action !== undefined) add(`${path}.buttons.${position}.action`, `A rule on ${on} has no actions.`)
}

const isPerPerson = (rule: GivenRule, parts: FileParts): boolean => toRule(rule, parts).within_minutes !== null

export const toRule = (rule: GivenRule, parts: FileParts): Rule => ({
  event: rule.on,
  text: rule.text ?? null,
  template: rule.template ?? '',
  language: rule.language ?? '',
  header: rule.header ?? [],
  body: rule.body ?? [],
  components: listComponents(rule),
  phone_number_id: rule.channel ?? null,
  holds_until_open: rule.hold_until_open ?? false,
  send_between: (rule.send_between as [string, string] | undefined) ?? null,
  supersedes: rule.supersedes ?? [],
  expires_after_hours: rule.expires_after_hours ?? null,
  pauses_on_category_change: rule.pause_on_category_change ?? false,
  paused_reason: null,
  within_minutes: null,
  ...Object.assign({}, ...parts.map(part => part.toColumns?.(rule))),
})

const listMedia = ({ header_image, header_video, header_document, header_location }: GivenRule): Parameter[] => [
  ...(header_image ? [{ type: 'image' as const, image: { link: header_image } }] : []),
  ...(header_video ? [{ type: 'video' as const, video: { link: header_video } }] : []),
  ...(header_document ? [{ type: 'document' as const, document: { link: header_document } }] : []),
  ...(header_location ? [{ type: 'location' as const, location: header_location }] : []),
]

/** Returns the components of a rule's template except a text header and a body without names. */
const listComponents = (rule: GivenRule): Component[] => {
  const media = listMedia(rule)
  const texts = Object.entries(rule.named_body ?? {})
  const body = texts.map(([parameter_name, text]) => ({ type: 'text' as const, parameter_name, text }))
  return [
    ...(media.length > 0 ? [{ type: 'header' as const, parameters: media }] : []),
    ...(body.length > 0 ? [{ type: 'body' as const, parameters: body }] : []),
    ...(rule.buttons ?? []).map(toButton),
  ]
}

const toButton = ({ index, url, payload, action, code }: NonNullable<GivenRule['buttons']>[number]): Component => {
  const pressed = payload ?? action
  const [sub_type, parameter]: [ButtonKind, Parameter] =
    url !== undefined
      ? ['url', { type: 'text', text: url }]
      : pressed !== undefined
        ? ['quick_reply', { type: 'payload', payload: pressed }]
        : ['copy_code', { type: 'coupon_code', coupon_code: code ?? '' }]
  const button: Component = { type: 'button', sub_type, index: String(index), parameters: [parameter] }
  return action === undefined ? button : { ...button, action }
}
