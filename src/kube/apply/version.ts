/** An object at one API version of its kind, with the shape it has there. */
import type { Json } from '../json.ts'
import type { ApplyShape } from './shape.ts'

export interface Versioned {
  readonly apiVersion: string
  readonly value: Json
  readonly shape: ApplyShape
}

/** The object at another version; `undefined` if that version is no longer served. */
export type ConvertVersion = (object: Versioned, apiVersion: string) => Versioned | undefined
