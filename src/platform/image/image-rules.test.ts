import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import { type ImageRule, parseImage, withImages } from './image-rules.ts'

const pod = (image: string, value = 'x'): JsonObject => ({
  kind: 'Thing',
  spec: {
    jobTemplate: {
      containers: [
        {
          name: 'a',
          image,
          env: [
            { name: 'IMAGE', value },
            { name: 'REF', valueFrom: {} },
          ],
        },
      ],
      initContainers: [{ image }],
      ephemeralContainers: [{ image }],
      volumes: [
        { name: 'v', image: { reference: image } },
        { name: 'w', emptyDir: {} },
      ],
    },
    image: 'untouched',
    containers: { image: 'no list' },
  },
})
const image = (text: string, ...rules: readonly ImageRule[]): string => {
  const made = withImages({ containers: [{ image: text }] }, rules) as { containers: readonly { image: string }[] }
  return made.containers[0]!.image
}
const env = (value: string, ...rules: readonly ImageRule[]): string => {
  const made = withImages({ containers: [{ env: [{ value }] }] }, rules)
  return (made as { containers: readonly { env: readonly { value: string }[] }[] }).containers[0]!.env[0]!.value
}

describe('rules for images', () => {
  it('apply to containers of all kinds, wherever they are, to image volumes and to variables', () => {
    const from = 'registry.example/web:1'
    expect(withImages(pod(from, from), [{ from: 'registry.example/web', to: 'mirror:5000/web' }])).toEqual(
      pod('mirror:5000/web:1', 'mirror:5000/web:1'),
    )
  })

  it.for([
    ['web', 'web', 'my/web', 'my/web'],
    ['web:1', 'web', 'my/web', 'my/web:1'],
    ['web:1@sha256:a', 'web', 'my/web', 'my/web:1@sha256:a'],
    ['web:1', 'web', 'my/web:2', 'my/web:2'],
    ['web:1@sha256:a', 'web', 'my/web@sha256:b', 'my/web@sha256:b'],
    ['web:1', 'web:1', 'my/web', 'my/web:1'],
    ['web:2', 'web:1', 'my/web', 'web:2'],
    ['host:5000/web', 'host:5000/web', 'my/web', 'my/web'],
    ['host:5000/web:1', 'host', 'my', 'host:5000/web:1'],
    ['a/b/web:1', '*/web:1', 'my/web:1', 'my/web:1'],
    ['web:1', '*/web:1', 'my/web:1', 'my/web:1'],
    ['a/xweb:1', '*/web:1', 'my/web:1', 'a/xweb:1'],
    ['webserver:1', 'web', 'my/web', 'webserver:1'],
  ])('give for %s by %s to %s: %s', ([text, from, to, expected]) => {
    expect(image(text!, { from: from!, to: to! })).toBe(expected)
  })

  it('leave variables alone that are rather an address, a name or a part of something', () => {
    expect(env('redis:6379', { from: 'redis', to: 'my/redis' })).toBe('redis:6379')
    expect(env('registry.example/web', { from: 'registry.example/web', to: 'my/web' })).toBe('registry.example/web')
    expect(env('--image=a/web:1', { from: 'a/web', to: 'my/web' })).toBe('--image=a/web:1')
    expect(env('redis:7', { from: 'redis:7', to: 'my/redis' })).toBe('my/redis:7')
  })

  const name = fc.stringMatching(/^[a-c]{1,2}(\/[a-c]{1,2}){0,2}$/)
  const reference = fc
    .tuple(name, fc.option(fc.constantFrom('1', '2'), { nil: undefined }))
    .map(([a, tag]) => (tag === undefined ? a : `${a}:${tag}`))
  const rules = fc.array(fc.record({ from: reference, to: reference }), { maxLength: 4 })
  const trees = fc.letrec<{ tree: JsonObject }>((tie) => ({
    tree: fc.dictionary(
      fc.constantFrom(
        'containers',
        'initContainers',
        'volumes',
        'image',
        'env',
        'value',
        'spec',
        'reference',
        '__proto__',
      ),
      fc.oneof({ maxDepth: 4 }, reference, fc.integer(), tie('tree'), fc.array(tie('tree'), { maxLength: 2 })),
      { maxKeys: 3, noNullPrototype: true },
    ),
  })).tree

  it('change nothing where none fits, and never the object that is given', () => {
    fc.assert(
      fc.property(trees, rules, (tree, given) => {
        const before = JSON.stringify(tree)
        withImages(tree, given)
        expect(JSON.stringify(tree)).toBe(before)
        expect(withImages(tree, [{ from: 'elsewhere', to: 'x' }])).toBe(tree)
        expect(withImages(tree, [])).toBe(tree)
      }),
    )
  })

  it('keep everything but images: the same form, the same other values', () => {
    const form = (tree: unknown): string =>
      JSON.stringify(tree, (key, value: unknown) =>
        typeof value === 'string' && ['image', 'value', 'reference'].includes(key) ? '*' : value,
      )
    fc.assert(fc.property(trees, rules, (tree, given) => form(withImages(tree, given)) === form(tree)))
  })

  it('are no chain: the first that fits decides, once; so names can be exchanged', () => {
    fc.assert(
      fc.property(reference, rules, (text, given) => {
        const { name: own, tag } = parseImage(text)
        const first = given.find(
          ({ from }) => parseImage(from).name === own && [undefined, tag].includes(parseImage(from).tag),
        )
        const to = first && parseImage(first.to)
        const expected = to ? `${to.name}${(to.tag ?? tag) === undefined ? '' : `:${to.tag ?? tag}`}` : text
        expect(image(text, ...given)).toBe(expected)
      }),
    )
    expect(image('a:1', { from: 'a', to: 'b' }, { from: 'b', to: 'a' })).toBe('b:1')
  })

  it('applied twice do no more than once, unless what they give fits one of them', () => {
    fc.assert(
      fc.property(trees, rules, (tree, given) => {
        const distinct = given.map(({ from, to }) => ({ from, to: `mirror/x/y/z/${to}` }))
        const once = withImages(tree, distinct)
        expect(withImages(once, distinct)).toEqual(once)
      }),
    )
  })
})
