/** The configuration of an operator: fields with defaults, validated before the operator starts. */
import { embeddedChecks } from '../kube/validation/embedded-checks.ts'
import { MusterError } from '../kube/errors.ts'
import type { JsonObject } from '../kube/json.ts'
import { structuralSchema } from '../kube/structural/structural.ts'
import { type Fields, objectSchema, type ReadObject, type WriteObject } from './field.ts'

export interface Config<T extends Fields = Fields> {
  readonly fields: T
  /** With defaults. @throws InvalidController naming what is wrong and where */
  read(given: WriteObject<T>): ReadObject<T>
}

export type ConfigOf<C> = C extends Config<infer T> ? ReadObject<T> : never

export function defineConfig<const T extends Fields>(fields: T): Config<T> {
  return {
    fields,
    read(given) {
      const schema = structuralSchema(objectSchema(fields), { embedded: embeddedChecks })
      const whole = schema.applyDefaults(given as unknown as JsonObject)
      const unknown = Object.keys(whole).filter((name) => !Object.hasOwn(fields, name))
      const problems = [
        ...unknown.map((name) => `${name}: there is no such setting (there are ${Object.keys(fields).join(', ')})`),
        ...schema.validate(whole).map(({ field, message }) => `${field}: ${message}`),
      ]
      if (problems.length > 0) throw new MusterError('InvalidController', `Configuration: ${problems.join('; ')}.`)
      return whole as unknown as ReadObject<T>
    },
  }
}
