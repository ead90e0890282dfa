import { describe, expect, it } from 'vitest'
import { type Json, parseJson } from '../kube/json.ts'
import { bodyProblem } from './body-bounds.ts'

const nested = (levels: number): Json => parseJson(`${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`)

describe('the bounds of a body', () => {
  it('allow objects as deep as any real one', () => {
    expect(bodyProblem(nested(500))).toBeUndefined()
    expect(bodyProblem(undefined)).toBeUndefined()
  })

  it('reject what is nested deeper, and numbers out of range', () => {
    expect(bodyProblem([1, nested(500)])).toBe('the body of the request is nested deeper than 500 levels')
    expect(bodyProblem({ a: [{ b: Infinity }] })).toBe('a number in the body of the request is out of range')
  })
})
