import t from 'tap'
import type { ButtonKind, Component, MessageTemplate, Parameter } from '../messaging-api/message-template.ts'
import { type CatalogueTemplate, normaliseLanguage, readTemplate } from './catalogue.ts'
import { checkParameters, checkTemplate } from './check-parameters.ts'

const listed = (fields: Record<string, unknown> = {}) => ({
  id: '1387372356726668',
  name: 'order_created',
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components: [
    { type: 'HEADER', format: 'TEXT', text: 'Parcel {{1}}', example: { header_text: ['WB-1'] } },
    { type: 'BODY', text: 'Hi {{1}}, {{2}} is on its way, pay {{3}}. Thanks {{1}}!' },
    { type: 'FOOTER', text: 'Reply STOP {{1}}' },
    {
      type: 'BUTTONS',
      buttons: [
        { type: 'URL', url: 'https://x/' },
        { type: 'QUICK_REPLY', text: 'Stop' },
      ],
    },
  ],
  ...fields,
})

const template = (fields: Record<string, unknown> = {}, held: Partial<CatalogueTemplate> = {}): CatalogueTemplate => {
  const read = readTemplate(listed(fields))
  if (!read) throw new Error('no template')
  return {
    ...read,
    category: read.category ?? null,
    heldAt: null,
    heldCode: null,
    budgetPausedAt: null,
    announcedCategory: null,
    announcedAt: null,
    ...held,
  }
}

const texts = (...values: string[]) => values.map(text => ({ type: 'text' as const, text }))
const message = (header: string[], body: string[]): MessageTemplate => ({
  name: 'order_created',
  language: { code: 'en_US' },
  components: [
    { type: 'header', parameters: texts(...header) },
    { type: 'body', parameters: texts(...body) },
  ],
})

t.test('accepts a message with as many parameters as the template has variables', t => {
  t.same(checkParameters(template(), message(['WB-1'], ['Nimali', 'WB-1', '4500'])), {})
  t.end()
})

t.test('ignores the letter case of the list', t => {
  const components = [
    { type: 'body', text: '{{1}}' },
    { type: 'Header', format: 'text', text: 'Hello' },
  ]
  const lower = template({ components, status: 'approved', parameter_format: 'positional' })
  t.same(checkParameters(lower, { ...message([], ['a']) }), {})
  t.end()
})

t.test('the error for a wrong number of parameters names the expected and the given number', t => {
  t.same(checkParameters(template(), message([], ['Nimali', 'WB-1'])), {
    'template.components.0.parameters': ['The header of order_created takes 1 parameter, 0 were given.'],
    'template.components.1.parameters': ['The body of order_created takes 3 parameters, 2 were given.'],
  })
  const nothing = { ...message([], []), components: [] }
  t.same(checkParameters(template(), nothing, 'messages.7.template.'), {
    'messages.7.template.components': [
      'The header of order_created takes 1 parameter, 0 were given.',
      'The body of order_created takes 3 parameters, 0 were given.',
    ],
  })
  const plain = template({ components: [{ type: 'BODY', text: 'Hello' }] })
  t.same(checkParameters(plain, message([], ['one'])), {
    'template.components.1.parameters': ['The body of order_created takes no parameters, 1 was given.'],
  })
  t.same(checkParameters(plain, nothing), {})
  t.end()
})

t.test('a text that is too long once filled is an error that says how to shorten it', t => {
  const header = (length: number, kind = template()) =>
    checkParameters(kind, message(['x'.repeat(length)], ['Nimali', 'WB-1', '4500']))
  const body = (text: string, kind = template()) => checkParameters(kind, message(['WB-1'], [text, 'WB-1', '4500']))
  t.same(header(60 - 'Parcel '.length), {})
  t.same(header(61 - 'Parcel '.length), {
    'template.components.0.parameters': [
      'The header of order_created has 61 characters with its parameters, but at most 60 are allowed: shorten a parameter, or the text of the template.',
    ],
  })
  const fixed = 'Hi , WB-1 is on its way, pay 4500. Thanks !'.length
  t.same(body('x'.repeat((1024 - fixed) / 2)), {})
  t.match(body('x'.repeat(500)), {
    'template.components.1.parameters': [/^The body of order_created has 1,043 characters .* at most 1,024 /],
  })
  t.same(body('{{destination_state}}'.repeat(30)), {}, 'a field of a rule counts as one character')
  const alone = template({ components: [{ type: 'BODY', text: '{{1}}{{1}}' }] })
  const only = { ...message([], []), components: [{ type: 'body' as const, parameters: texts('x'.repeat(1000)) }] }
  t.same(checkParameters(alone, only), {}, 'a body without other parts may be longer')
  const most = template({ components: [{ type: 'BODY', text: '{{1}}'.repeat(32) }] })
  const long = { ...only, components: [{ type: 'body' as const, parameters: texts('x'.repeat(1024)) }] }
  t.same(checkParameters(most, long), {})
  const more = template({ components: [{ type: 'BODY', text: `${'{{1}}'.repeat(32)}.` }] })
  t.match(checkParameters(more, long), {
    'template.components.0.parameters': [/^The body of order_created has 32,769 characters .* at most 32,768 /],
  })
  t.end()
})

t.test('a component given twice is an error', t => {
  const twice = message(['WB-1'], ['a', 'b', 'c'])
  t.same(checkParameters(template(), { ...twice, components: [...twice.components, ...twice.components.slice(1)] }), {
    'template.components.2.type': ['The body was given twice.'],
  })
  t.end()
})

t.test('accepts names only for templates that have them', t => {
  const named = message(['WB-1'], ['a', 'b', 'c'])
  named.components[1]?.parameters.splice(1, 1, { type: 'text', text: 'b', parameter_name: 'second' })
  t.same(checkParameters(template(), named), {
    'template.components.1.parameters.1.parameter_name': [
      'The parameters of order_created have no names, only an order.',
    ],
  })
  t.end()
})

t.test('accepts named parameters in any order, each once, all of them, and no others', t => {
  const components = [{ type: 'BODY', text: 'Hi {{customer}}, {{waybill}} costs {{ cod }}. Bye {{customer}}' }]
  const named = template({ parameter_format: 'named', components })
  const send = (...parameters: [string | undefined, string][]): MessageTemplate => ({
    ...message([], []),
    components: [
      {
        type: 'body',
        parameters: parameters.map(([name, text]) => ({ type: 'text', text, ...(name && { parameter_name: name }) })),
      },
    ],
  })
  t.same(checkParameters(named, send(['cod', '1'], ['customer', 'a'], ['waybill', 'b'])), {})
  t.same(checkParameters(named, send(['cod', '1'], ['cod', '2'], ['colour', 'red'], [undefined, 'x'])), {
    'template.components.0.parameters.1.parameter_name': ['The parameter cod was given twice.'],
    'template.components.0.parameters.2.parameter_name': ['The body of order_created has no parameter colour.'],
    'template.components.0.parameters.3.parameter_name': [
      'The parameters of order_created have names: this one needs its own.',
    ],
    'template.components.0.parameters': [
      'The body of order_created takes customer, waybill, cod; customer, waybill were not given.',
    ],
  })
  t.end()
})

t.test('refuses a template with parts that cannot be filled in', t => {
  const cases: [unknown, string][] = [
    [{ type: 'HEADER', format: 'CAROUSEL' }, 'a header of the kind carousel'],
    [{ type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY' }, { type: 'OTP' }] }, 'a button of the kind otp'],
    [{ type: 'CAROUSEL', cards: [] }, 'a part of the kind carousel'],
  ]
  for (const [component, blockReason] of cases) {
    const errors = checkParameters(template({ components: [{ type: 'BODY', text: 'x' }, component] }), message([], []))
    t.same(errors, {
      'template.name': [`The template order_created (en_US) has ${blockReason}, which cannot be sent from here.`],
    })
  }
  t.end()
})

const send = (...components: Component[]): MessageTemplate => ({ ...message([], []), components })
const header = (parameter: Parameter): Component => ({ type: 'header', parameters: [parameter] })
const withHeader = (format: string) =>
  template({
    components: [
      { type: 'HEADER', format },
      { type: 'BODY', text: 'x' },
    ],
  })

t.test('a media header takes one parameter of its kind, with a link that the API can use', t => {
  const image = (link: string) => send(header({ type: 'image', image: { link } }))
  t.same(checkParameters(withHeader('IMAGE'), image('https://example.com/a/Parcel.JPG?x=1')), {})
  t.same(checkParameters(withHeader('IMAGE'), image('https://example.com/label.pdf')), {
    'template.components.0.parameters.0.image.link': ['The image link must end in .jpg or .jpeg or .png.'],
  })
  const label = { link: 'https://example.com/label.pdf', filename: 'Label DM00000001.pdf' }
  t.same(checkParameters(withHeader('DOCUMENT'), send(header({ type: 'document', document: label }))), {})
  const place = { latitude: 6.9, longitude: 79.9, name: 'Hub', address: 'Kotte' }
  t.same(checkParameters(withHeader('LOCATION'), send(header({ type: 'location', location: place }))), {})
  const wrong = ['The header of order_created takes one parameter of type image.']
  t.same(checkParameters(withHeader('IMAGE'), send()), { 'template.components': wrong })
  t.same(checkParameters(withHeader('IMAGE'), message(['WB-1'], [])), { 'template.components.0.parameters': wrong })
  t.same(
    checkParameters(
      template(),
      send(header({ type: 'location', location: place }), { type: 'body', parameters: texts('a', 'b', 'c') }),
    ),
    {
      'template.components.0.parameters.0.type': ['The header of order_created takes texts, not location.'],
    },
  )
  t.end()
})

t.test('buttons take a value of their kind, at their index; URLs with a variable and codes to copy need one', t => {
  const buttons = [
    { type: 'QUICK_REPLY', text: 'Not me' },
    { type: 'URL', url: 'https://x/{{1}}' },
    { type: 'COPY_CODE' },
    { type: 'URL', url: 'https://x/' },
  ]
  const known = template({
    components: [
      { type: 'BODY', text: 'x' },
      { type: 'BUTTONS', buttons },
    ],
  })
  const button = (index: string | number, sub_type: ButtonKind, parameter: Parameter): Component => ({
    ...{ type: 'button', sub_type, index, parameters: [parameter] },
  })
  const url = button(1, 'url', { type: 'text', text: 'DM1' })
  const code = button('2', 'copy_code', { type: 'coupon_code', coupon_code: 'SAVE10' })
  t.same(checkParameters(known, send(url, code)), {})
  t.same(checkParameters(known, send(url, code, button(0, 'quick_reply', { type: 'payload', payload: 'x' }))), {})
  t.same(checkParameters(known, send()), {
    'template.components': [
      'The button 1 of order_created takes a text: none was given.',
      'The button 2 of order_created takes a coupon_code: none was given.',
    ],
  })
  const others = [
    button(0, 'url', { type: 'text', text: 'a' }),
    button(3, 'url', { type: 'text', text: 'a' }),
    button(4, 'url', { type: 'text', text: 'a' }),
    { type: 'button' as const, parameters: [] },
  ]
  t.same(checkParameters(known, send(button(1, 'url', { type: 'payload', payload: 'a' }), code, ...others)), {
    'template.components.0.parameters': ['The button 1 of order_created takes one parameter of type text.'],
    'template.components.2.sub_type': ['The button 0 of order_created is a quick_reply.'],
    'template.components.3': ['The button 3 of order_created takes nothing.'],
    'template.components.4.index': ['order_created has no button 4.'],
    'template.components.5.index': ['The index field is required: the position of the button, from 0.'],
  })
  t.end()
})

t.test('accepts only an approved template that is not held', t => {
  const right = message(['WB-1'], ['a', 'b', 'c'])
  t.same(checkParameters(template({ status: 'PAUSED' }), right), {
    'template.name': ['The template order_created (en_US) is PAUSED: only an APPROVED one may be sent.'],
  })
  const held = { heldAt: new Date('2026-11-20T12:00:00Z'), heldCode: 132015 }
  t.same(checkParameters(template({}, held), right), {
    'template.name': [
      'The template order_created (en_US) is held: the messaging API refused it with code 132015 on 2026-11-20T12:00:00.000Z. The hold ends once a sync or a webhook shows it as APPROVED.',
    ],
  })
  t.end()
})

t.test('an unknown template, or one in another language, is an error', t => {
  const right = message(['WB-1'], ['a', 'b', 'c'])
  t.same(checkTemplate([template()], right), {})
  t.same(checkTemplate([template({ name: 'other' })], right), {
    'template.name': ['There is no template order_created in the catalogue. If it is new, sync the templates.'],
  })
  t.same(checkTemplate([template({ language: 'si' }), template({ language: 'en-GB' })], right), {
    'template.language.code': ['The template order_created does not exist in en_US, only in en_GB, si.'],
  })
  t.end()
})

t.test('leaves out an entry of the list that is not a template', t => {
  const bad = [null, 7, [], {}, listed({ name: 'A B' }), listed({ language: 7 }), listed({ status: undefined })]
  t.same(bad.map(readTemplate).filter(Boolean), [])
  t.match(readTemplate(listed({ id: 1387372356726668, components: 'none' })), {
    templateId: '1387372356726668',
    components: [],
  })
  t.equal(readTemplate(listed({ id: 2 ** 56 }))?.templateId, undefined, 'a rounded id is left out')
  t.end()
})

t.test('normalises languages to the form of a send', t => {
  for (const [given, written] of [
    ['en-US', 'en_US'],
    ['en_us', 'en_US'],
    ['SI', 'si'],
    ['fil', 'fil'],
    ['pt_BR', 'pt_BR'],
  ] as const)
    t.equal(normaliseLanguage(given), written)
  t.end()
})
