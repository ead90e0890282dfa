import { describe, expect, it } from 'vitest'
import { patchRefusal } from './patch-error.ts'

describe('the refusal of a patch', () => {
  it('shows a strategic patch as Go prints maps', () => {
    const change = { spec: { b: [1, 'x', null], a: { c: true, gone: null } }, kind: 'K' }
    expect(patchRefusal(change, {}, true, 'why').message).toBe(
      ' "" is invalid: patch: Invalid value: "map[kind:K spec:map[a:map[c:true] b:[1 x <nil>]]]": why',
    )
  })

  it('shows the outcome of other patches as JSON, members sorted', () => {
    expect(patchRefusal({}, { kind: 'K', apiVersion: 'v1', a: [{ c: 1, b: 2 }] }, false, 'why').message).toBe(
      String.raw` "" is invalid: patch: Invalid value: "{\"a\":[{\"b\":2,\"c\":1}],\"apiVersion\":\"v1\",\"kind\":\"K\"}": why`,
    )
  })

  it('says of a strategic patch with a wrong type what Go says', () => {
    const why = 'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32'
    expect(patchRefusal({}, {}, true, why).message).toContain('unrecognized type: int32')
    expect(patchRefusal({}, {}, false, why).message).toContain(why)
  })
})
