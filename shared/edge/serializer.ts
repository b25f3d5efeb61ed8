import selector from '@fastify/fast-json-stringify-compiler'
import type { FastifySerializerCompiler } from 'fastify'

type Serialize = (data: unknown) => string

const build = selector()({}, {}) as (definition: { schema: object }) => Serialize
const built = new WeakMap<object, Serialize>()

/** Fastify's own serializers, each built when it is first needed: all of them were a third of a service's start. */
export const serializer: FastifySerializerCompiler<object> = ({ schema }) => {
  let serialize: Serialize | undefined
  return data => {
    serialize ??= serializeOf(schema)
    return serialize(data)
  }
}

const serializeOf = (schema: object): Serialize => {
  const serialize = built.get(schema) ?? build({ schema })
  built.set(schema, serialize)
  return serialize
}
