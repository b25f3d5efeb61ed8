import { type ButtonKind, buttonKinds } from '../messaging-api/message-template.ts'
import { isRecord, type Json, toList, toRecord } from '../messaging-api/read-json.ts'

/** Lists the documented statuses (docs/contributors/messaging-api.md#templates). */
export const templateStatuses: readonly string[] =
  'APPROVED PENDING REJECTED IN_APPEAL PAUSED DISABLED PENDING_DELETION DELETED LIMIT_EXCEEDED ARCHIVED'.split(' ')

/** Describes a template as the API lists it (docs/contributors/messaging-api.md#templates). */
export interface ListedTemplate {
  readonly name: string
  /** Has the form that a send uses: en_US. */
  readonly language: string
  readonly templateId: string | undefined
  readonly status: string
  readonly category: string | undefined
  readonly parameterFormat: 'POSITIONAL' | 'NAMED'
  readonly components: readonly unknown[]
}

/** Adds to a listed template its hold, its pause for the budget and its announced change of category. */
export interface CatalogueTemplate extends Omit<ListedTemplate, 'templateId' | 'category'> {
  readonly category: string | null
  readonly heldAt: Date | null
  readonly heldCode: number | null
  /** Is set while the tenant's budget keeps the template from being sent, except in messages about a parcel. */
  readonly budgetPausedAt: Date | null
  /** Names the category after an announced change; null means that none is announced, or that it has taken effect. */
  readonly announcedCategory: string | null
  readonly announcedAt: Date | null
}

/** Describes a button as a send sees it: its position in the list is its index. */
export interface TemplateButton {
  readonly kind: ButtonKind | 'other'
  /** Is true if a send must carry a value for it. */
  readonly isRequired: boolean
}

export const headerKinds = ['image', 'video', 'document', 'location'] as const
export type HeaderKind = (typeof headerKinds)[number]

export const toCapitals = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.toUpperCase() : undefined

/** Reads an entry of the API's list; returns undefined for one that is not a valid template. */
export const readTemplate = (value: unknown): ListedTemplate | undefined => {
  if (!isRecord(value)) return undefined
  const { name, language } = value
  const status = toCapitals(value.status)
  if (typeof name !== 'string' || !/^[a-z0-9_]{1,512}$/.test(name)) return undefined
  if (typeof language !== 'string' || !isLanguage(language)) return undefined
  if (!status || !isStatus(status)) return undefined
  return {
    name,
    language: normaliseLanguage(language),
    templateId: readTemplateId(value.id),
    status,
    category: typeof value.category === 'string' ? value.category.slice(0, 100) : undefined,
    parameterFormat: toCapitals(value.parameter_format) === 'NAMED' ? 'NAMED' : 'POSITIONAL',
    components: toList(value.components),
  }
}

export const isStatus = (text: string): boolean => /^[A-Z_]{1,50}$/.test(text)
export const isLanguage = (text: string): boolean => /^[A-Za-z]{2,3}([_-][A-Za-z]{2,4})?$/.test(text)

/** Normalises a language: template events write en-US, sends and the list write en_US. */
export const normaliseLanguage = (language: string): string => {
  const [tongue = '', region] = language.split(/[_-]/)
  return region === undefined ? tongue.toLowerCase() : `${tongue.toLowerCase()}_${region.toUpperCase()}`
}

/** Returns the digits of an id; undefined for other values, and for a number that JSON.parse has rounded. */
export const readTemplateId = (value: unknown): string | undefined => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined
  return typeof value === 'string' && /^\d{1,30}$/.test(value) ? value : undefined
}

/** Returns the parts that a send of the template must and may carry; `blockReason` names a part we cannot fill in. */
export const dissect = ({ components, parameterFormat }: Pick<ListedTemplate, 'components' | 'parameterFormat'>) => {
  const known = components.filter(isRecord)
  const findText = (type: string): string =>
    known
      .filter(component => toCapitals(component.type) === type)
      .map(({ text }) => (typeof text === 'string' ? text : ''))
      .join('\n')
  const header = known.find(component => toCapitals(component.type) === 'HEADER')
  const buttons = known.find(component => toCapitals(component.type) === 'BUTTONS')
  return {
    headerKind: headerKinds.find(kind => kind.toUpperCase() === toCapitals(header?.format)),
    header: listVariables(findText('HEADER'), parameterFormat),
    body: listVariables(findText('BODY'), parameterFormat),
    buttons: toList(buttons?.buttons).filter(isRecord).map(readButton),
    blockReason: known.map(findBlockReason).find(blockReason => blockReason !== undefined),
  }
}

export const variable = {
  POSITIONAL: /\{\{\s*([0-9]{1,3})\s*\}\}/g,
  NAMED: /\{\{\s*([A-Za-z0-9_]{1,100})\s*\}\}/g,
}

const listVariables = (text: string, format: ListedTemplate['parameterFormat']): string[] => [
  ...new Set([...text.matchAll(variable[format])].map(match => match[1] ?? '')),
]

const readButton = ({ type, url }: Json): TemplateButton => {
  const kind = buttonKinds.find(kind => kind.toUpperCase() === toCapitals(type)) ?? 'other'
  const hasVariable = typeof url === 'string' && url.includes('{{')
  return { kind: kind === 'url' && !hasVariable ? 'other' : kind, isRequired: kind === 'copy_code' || hasVariable }
}

const findBlockReason = (component: Json): string | undefined => {
  const type = toCapitals(component.type) ?? ''
  if (type === 'HEADER') {
    const format = toCapitals(component.format) ?? 'TEXT'
    const isKnown = ['TEXT', ...headerKinds.map(kind => kind.toUpperCase())].includes(format)
    return isKnown ? undefined : `a header of the kind ${describe(format)}`
  }
  if (type === 'BUTTONS') {
    const kinds = toList(component.buttons).map(button => toCapitals(toRecord(button).type) ?? '')
    const unsendable = kinds.find(kind => unsendableButtons.includes(kind))
    return unsendable && `a button of the kind ${describe(unsendable)}`
  }
  return type === 'BODY' || type === 'FOOTER' ? undefined : `a part of the kind ${describe(type)}`
}

const unsendableButtons = ['OTP', 'MPM', 'SPM']

const describe = (kind: string): string => (isStatus(kind) ? kind.toLowerCase().replaceAll('_', ' ') : 'unknown')
