import type { OpenApi, Operation } from '@courier/shared/http/openapi.ts'

/** A collection in Postman's format 2.1, which Bruno and Insomnia import too: a folder for each tag. */
export const toCollection = (document: OpenApi, url: string): object => ({
  info: {
    name: document.info.title,
    description: document.info.description,
    schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
  },
  variable: [
    { key: 'url', value: url },
    { key: 'tenant', value: 'demo' },
    { key: 'token', value: '' },
  ],
  auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}', type: 'string' }] },
  item: document.tags.map(({ name, description }) => ({
    name,
    description,
    item: Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { tags = [] }]) => tags.includes(name))
        .map(([method, operation]) => toItem(method.toUpperCase(), path, operation)),
    ),
  })),
})

const toItem = (method: string, path: string, operation: Operation): object => {
  const { summary = '', description, security = [], parameters = [], requestBody } = operation
  const { example, examples = {} } = requestBody?.content['application/json'] ?? {}
  const body = example ?? Object.values(examples)[0]?.value
  const named = (where: string) => parameters.filter(parameter => parameter.in === where)
  const raw = path.replaceAll(/\{(\w+)\}/g, ':$1')
  const headers = named('header').map(({ name, required }) => ({
    key: name,
    value: name === 'X-tenant' ? '{{tenant}}' : name === 'Idempotency-Key' ? '{{$guid}}' : '',
    disabled: !required,
  }))
  return {
    name: summary,
    request: {
      method,
      ...(description && { description }),
      ...(security.length === 0 && { auth: { type: 'noauth' } }),
      header: [...headers, ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }])],
      url: {
        raw: `{{url}}${raw}`,
        host: ['{{url}}'],
        path: raw.slice(1).split('/'),
        query: named('query').map(({ name, description = '' }) => ({
          key: name,
          value: '',
          description,
          disabled: true,
        })),
        variable: named('path').map(({ name, description = '' }) => ({ key: name, value: '', description })),
      },
      ...(body !== undefined && {
        body: { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } },
      }),
    },
  }
}
