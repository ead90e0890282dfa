import { describe, expect, it } from 'vitest'
import { patchRefusal } from './patch-error.ts'

describe('the error of a patch', () => {
  it('quotes a strategic merge patch as a Go map', () => {
    const change = { spec: { b: [1, 'x', null], a: { c: true, gone: null } }, kind: 'K' }
    expect(patchRefusal(change, {}, true, 'why').message).toBe(
      ' "" is invalid: patch: Invalid value: "map[kind:K spec:map[a:map[c:true] b:[1 x <nil>]]]": why',
    )
  })

  it('quotes the result of other patches as sorted JSON', () => {
    expect(patchRefusal({}, { kind: 'K', apiVersion: 'v1', a: [{ c: 1, b: 2 }] }, false, 'why').message).toBe(
      String.raw` "" is invalid: patch: Invalid value: "{\"a\":[{\"b\":2,\"c\":1}],\"apiVersion\":\"v1\",\"kind\":\"K\"}": why`,
    )
  })

  it("has Go's message for a wrong type in a strategic merge patch", () => {
    const why = 'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32'
    expect(patchRefusal({}, {}, true, why).message).toContain('unrecognized type: int32')
    expect(patchRefusal({}, {}, false, why).message).toContain(why)
  })
})
