import { describe, expect, it } from 'vitest'
import type { Json } from '../../kube/json.ts'
import { base64, dictionary, flag, listMember, member, type Reader, recordMember, textMember } from './document.ts'

interface Sample {
  readonly name?: string | undefined
  readonly on?: boolean | undefined
  readonly tags?: readonly string[] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly data?: string | undefined
}

const sample: Reader<Sample> = recordMember<Sample>({
  name: member('name', textMember),
  on: member('on', flag),
  tags: member('tags', listMember(textMember)),
  labels: member('labels', dictionary(textMember)),
  data: member('data', base64),
})

function read(value: Json): { readonly result: Sample | undefined; readonly problems: readonly string[] } {
  const problems: string[] = []
  return { result: sample(value, '', problems), problems }
}

describe('a document reader', () => {
  it('reads known members and ignores the rest', () => {
    const { result, problems } = read({
      name: 'a',
      on: false,
      tags: ['x'],
      labels: { k: 'v' },
      data: 'aGk=',
      other: 1,
    })
    expect(result).toEqual({ name: 'a', on: false, tags: ['x'], labels: { k: 'v' }, data: 'hi' })
    expect(problems).toEqual([])
  })

  it('reads null as absent', () => {
    expect(read({ name: null, tags: null, labels: { gone: null } })).toEqual({ result: { labels: {} }, problems: [] })
  })

  it('reports every problem with its path, and never a value', () => {
    const { problems } = read({
      name: 4711,
      on: 'hunter2',
      tags: ['x', { secret: 'hunter2' }],
      labels: [],
      data: 'hunter2',
    })
    expect(problems).toEqual([
      'name must be text, but is a number: put it in quotes',
      'on must be true or false, but is text',
      'tags[1] must be text, but is a mapping',
      'labels must be a mapping, but is a list',
      'data is not valid base64',
    ])
  })

  it('reports PEM where base64 is expected', () => {
    expect(read({ data: '-----BEGIN CERTIFICATE-----' }).problems).toEqual([
      'data is not valid base64: it holds plain PEM, encode it with base64',
    ])
  })

  it('ignores inherited members', () => {
    expect(read(Object.create({ name: 'inherited' }) as Json).result).toEqual({})
  })
})
