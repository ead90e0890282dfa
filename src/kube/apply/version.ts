/** An object at one API version of its kind, with the shape it has there. */
import type { Json } from '../json.ts'
import type { Shape } from './shape.ts'

export interface Versioned {
  readonly apiVersion: string
  readonly value: Json
  readonly shape: Shape
}

/** The object at another version; `undefined` when that version is no longer served. */
export type Convert = (object: Versioned, apiVersion: string) => Versioned | undefined
