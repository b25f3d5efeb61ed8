import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Component, MessageTemplate, Parameter } from '../messaging-api/message-template.ts'
import { isRecord, type Json, toList } from '../messaging-api/read-json.ts'
import { type CatalogueTemplate, headerKinds, toCapitals, variable } from './catalogue.ts'

const Text = orNull(Type.String())

/** Shows a message as its recipient reads it. A variable without a parameter stays as it is. */
export const Rendered = Type.Object({
  header: Text,
  media: orNull(Type.Object({ kind: Type.String(), link: Text, name: Text }), { examples: [null] }),
  body: orNull(Type.String(), { examples: ['Hello Nimali, your parcel DM00000001 was delivered. Thank you!'] }),
  footer: Text,
  buttons: Type.Array(Type.Object({ kind: Type.String(), label: Type.String(), url: Text, code: Text }), {
    examples: [[]],
  }),
})

export type Rendered = Static<typeof Rendered>

/** Renders a message with up to `most` characters of each text: a long parameter may fill many variables. */
export const render = (
  template: Pick<CatalogueTemplate, 'components' | 'parameterFormat'>,
  { components }: MessageTemplate,
  most = 4096,
): Rendered => {
  const listed = template.components.filter(isRecord)
  const findPart = (type: string) => listed.find(part => toCapitals(part.type) === type)
  const given = (type: string) => components.find(component => component.type === type)?.parameters ?? []
  const { parameterFormat } = template
  const [header, buttons] = [findPart('HEADER'), findPart('BUTTONS')]
  const kind = headerKinds.find(kind => kind.toUpperCase() === toCapitals(header?.format))
  const renderText = (part: Json | undefined, type: string) => {
    const values = given(type)
    const findByName = (name: string) => values.find(({ parameter_name }) => parameter_name === name)
    return fill(part?.text, most, parameterFormat === 'NAMED' ? findByName : name => values[Number(name) - 1])
  }
  return {
    header: kind ? null : renderText(header, 'header'),
    media: kind ? renderMedia(kind, given('header')[0]) : null,
    body: renderText(findPart('BODY'), 'body'),
    footer: renderText(findPart('FOOTER'), 'footer'),
    buttons: toList(buttons?.buttons)
      .filter(isRecord)
      .map((button, index) => renderButton(button, most, findGiven(components, index)[0])),
  }
}

const findGiven = (components: readonly Component[], position: number): readonly Parameter[] =>
  components.find(({ type, index }) => type === 'button' && Number(index) === position)?.parameters ?? []

const fill = (text: unknown, most: number, findParameter: (name: string) => Parameter | undefined): string | null => {
  if (typeof text !== 'string') return null
  let filled = ''
  let end = 0
  for (const { 0: written, 1: name = '', index } of text.matchAll(variable.NAMED)) {
    if (filled.length > most) break
    filled += text.slice(end, index) + (renderParameter(findParameter(name)) ?? written)
    end = index + written.length
  }
  return (filled + text.slice(end)).slice(0, most).toWellFormed()
}

const renderParameter = (parameter: Parameter | undefined): string | undefined =>
  parameter?.text ?? parameter?.currency?.fallback_value ?? parameter?.date_time?.fallback_value

/** Renders a media header; its name, of a file or a location, is the part that the recipient sees. */
const renderMedia = (kind: (typeof headerKinds)[number], parameter: Parameter | undefined): Rendered['media'] => {
  const { link = null } = kind === 'location' ? {} : (parameter?.[kind] ?? {})
  const { document, location } = parameter ?? {}
  const place = location && `${location.name}, ${location.address}`
  return { kind, link, name: (kind === 'document' ? document?.filename : kind === 'location' && place) || null }
}

/** Renders a button; its parameter fills the only variable of the address, whatever its name. */
const renderButton = ({ type, text, url }: Json, most: number, parameter?: Parameter): Rendered['buttons'][number] => ({
  kind: typeof type === 'string' ? type.toLowerCase() : 'unknown',
  label: typeof text === 'string' ? text : '',
  url: fill(url, most, () => parameter),
  code: parameter?.coupon_code ?? null,
})
