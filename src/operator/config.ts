/** The configuration of an operator: fields with defaults, validated before the operator starts. */
import { embeddedChecks } from '../kube/structural/embedded-checks.ts'
import { operatorErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { JsonObject } from '../kube/json.ts'
import { structuralSchema } from '../kube/structural/structural.ts'
import { type Fields, objectSchema, type ReadObject, type WriteObject } from './kind/field.ts'

export interface Config<T extends Fields = Fields> {
  readonly fields: T
  /** With defaults. @throws InvalidController naming what is wrong and where */
  read(given: WriteObject<T>): ReadObject<T>
}

/** A configuration by the type of its values: definitions take it so that their author code gets that type. */
export interface ConfigSource<Values> {
  readonly fields: Fields
  read(given: never): Values
}

declare const needs: unique symbol

/** A part of an operator whose author code reads these values: the operator must have a configuration with them. */
export interface NeedsConfig<Values> {
  /** For the compiler only: no value is stored here. */
  readonly [needs]?: (values: Values) => void
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
      if (problems.length > 0)
        throw new MusterError(operatorErrors.InvalidController, `Configuration: ${problems.join('; ')}.`)
      return whole as unknown as ReadObject<T>
    },
  }
}
