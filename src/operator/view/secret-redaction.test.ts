import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { withSecretReads } from './secret-redaction.ts'
import type { View } from './view.ts'

const secret = (data: Readonly<Record<string, string>>): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'default' },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  }) as unknown as KubeObject

const viewOf = (...objects: readonly KubeObject[]): View =>
  ({ get: () => objects[0], list: () => objects, ownedBy: () => objects, serves: () => true }) as unknown as View

const watched = (of: View): { readonly view: View; readonly hide: (text: string) => string } => {
  const view = withSecretReads(of)
  return { view, hide: view.secrets.hide }
}

const name = { name: 's', namespace: 'default' }

describe('Secrets read by a run', () => {
  it('are masked in messages, plain and encoded, the longest first', () => {
    const { view, hide } = watched(viewOf(secret({ a: 'sesame\n', b: 'open sesame' })))
    view.get(Secret, name)
    expect(hide('"open sesame" and sesame')).toBe('"***" and ***')
    expect(hide(`it was ${Buffer.from('sesame\n').toString('base64')}`)).toBe('it was ***')
    expect(hide('something else')).toBe('something else')
  })

  it('include those of lists and owned objects; unread Secrets mask nothing', () => {
    for (const read of [
      (view: View) => view.list(Secret),
      (view: View) => view.ownedBy(Secret, secret({})),
      (view: View) => view.get(Secret, name),
    ]) {
      const { view, hide } = watched(viewOf(secret({ a: 'sesame' })))
      expect(hide('sesame')).toBe('sesame')
      read(view)
      expect(hide('sesame')).toBe('***')
    }
    const { view, hide } = watched(viewOf(secret({ a: 'sesame' })))
    view.get(ConfigMap, name)
    expect(hide('sesame')).toBe('sesame')
  })

  it('do not mask words that are too short', () => {
    const { view, hide } = watched(viewOf(secret({ a: 'the', b: '1', c: '' })))
    view.get(Secret, name)
    expect(hide('the 1st')).toBe('the 1st')
  })

  it('are removed from any text that contains them', () => {
    const text = fc
      .string({ minLength: 4, maxLength: 20 })
      .filter((value) => !value.includes('*') && value.trim().length >= 4)
    fc.assert(
      fc.property(text, fc.string(), fc.string(), (value, before, after) => {
        const { view, hide } = watched(viewOf(secret({ a: value })))
        view.get(Secret, name)
        expect(hide(`${before}${value}${after}`)).not.toContain(value)
      }),
    )
  })
})
