/** A mistake in the definition of a kind is named when its CRD is generated or tested, not when it is installed. */
import { describe, expect, it } from 'vitest'
import { integer, list, object, optional, string } from './field.ts'
import { checkKind } from './kind-check.ts'
import { defineKind } from './kind.ts'

const definition = {
  group: 'shop.example.com',
  version: 'v1',
  kind: 'Shop',
  spec: { size: integer({ default: 1 }) },
} as const

const mistakes: readonly (readonly [string, () => Parameters<typeof checkKind>[0], string])[] = [
  ['a group', () => defineKind({ ...definition, group: 'shop' }), 'group: '],
  ['a version', () => defineKind({ ...definition, version: '1.0' }), 'version: '],
  ['a kind', () => defineKind({ ...definition, kind: 'My Shop' }), 'kind: '],
  ['a plural', () => defineKind({ ...definition, plural: 'Shops' }), 'plural: '],
  [
    'a pattern',
    () => defineKind({ ...definition, spec: { host: string({ pattern: '(' }) } }),
    'spec.host.pattern: Invalid value: "("',
  ],
  [
    'a pattern deep inside',
    () => defineKind({ ...definition, spec: { hosts: list(object({ name: string({ pattern: '(?!a)' }) })) } }),
    'spec.hosts.items.name.pattern: ',
  ],
  [
    'a default',
    () => defineKind({ ...definition, spec: { size: integer({ minimum: 3, default: 1 }) } }),
    'spec.size.default: ',
  ],
  [
    'a rule',
    () => defineKind({ ...definition, rules: [{ rule: 'self.spec.sice > 1', message: 'too small' }] }),
    "undefined field 'sice'",
  ],
  [
    'another version',
    () => defineKind({ ...definition, otherVersions: [{ version: 'v1beta1', spec: { a: string({ pattern: '[' }) } }] }),
    'version v1beta1, spec.a.pattern: ',
  ],
]

describe('a kind that an API server would reject', () => {
  it.each(mistakes)('is named with the place of the mistake: %s', (_, make, words) => {
    const kind = make()
    expect(() => checkKind(kind)).toThrow(
      expect.objectContaining({ name: 'InvalidKind', message: expect.stringContaining(words) }),
    )
  })

  it('is not found where there is none', () => {
    const kind = defineKind({ ...definition, status: { note: optional(string({ pattern: '^a+$' })) } })
    expect(() => checkKind(kind)).not.toThrow()
  })
})
