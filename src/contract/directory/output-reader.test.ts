import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { writeGoYaml } from '../text/go-yaml.ts'
import { outputFiles } from './output-directory.ts'
import { inOrder, readOutput } from './output-reader.ts'
import type { RecordedMutation } from '../declaration/mutation.ts'

function folderOf(files: Iterable<readonly [string, string]>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-output-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of files) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  return folder
}

const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } }
const mutation: RecordedMutation = {
  verb: 'Create',
  type: { group: '', version: 'v1', resource: 'configmaps' },
  namespace: 'shop',
  name: 'a',
  generateName: '',
  controller: 'c',
  body: writeGoYaml(object),
  options: {},
}
const output = (...mutations: readonly RecordedMutation[]) =>
  new Map(
    outputFiles({
      mutations: mutations.map((each) => ({ mutation: each, folders: ['Management'], content: undefined })),
      results: [],
    }),
  )

const place = 'Management/Create/namespaces/shop/core/configmaps'
const metadata = (change: object = {}): string =>
  writeGoYaml({
    action: 'Create',
    controllerInstanceName: 'c',
    generateName: '',
    name: 'a',
    namespace: 'shop',
    resourceType: { Group: '', Resource: 'configmaps', Version: 'v1' },
    ...change,
  })
const below = 'namespaces/shop/core/configmaps'
const patched = `Management/Patch/${below}`
const files = (body: string, meta = metadata(), at = place): Map<string, string> =>
  new Map([
    [`${at}/0000-body-a.yaml`, body],
    [`${at}/0000-metadata-a.yaml`, meta],
  ])

/** By its metadata. */
const named = (name: string): Map<string, string> => files(writeGoYaml(object), metadata({ name }))

describe('an output directory', () => {
  it('is read as it was written, in its order', () => {
    const others: readonly RecordedMutation[] = [
      { ...mutation, verb: 'Delete', name: 'z', body: '' },
      { ...mutation, verb: 'Apply', subresource: 'status', fieldManager: 'c', options: { force: true } },
      { ...mutation, verb: 'Update', subresource: 'scale' },
      { ...mutation, verb: 'Patch', patchType: 'application/merge-patch+json', body: '{"data":{"a":"b"}}' },
      {
        ...mutation,
        name: '',
        generateName: 'system:made-',
        body: writeGoYaml({ ...object, metadata: { generateName: 'system:made-', namespace: 'shop' } }),
      },
      mutation,
    ]
    const read = readOutput(folderOf(output(...others)))
    expect(inOrder(read.mutations).map((each) => each.mutation)).toEqual(others)
    expect([...output(...others).keys()]).toContain(
      'Management/Create/namespaces/shop/core/configmaps/' +
        [...output(others[4]!).keys()]
          .find((name) => name.includes('-body-'))!
          .split('/')
          .at(-1),
    )
    expect([...output(others[4]!).keys()].some((name) => name.endsWith('-body-system-COLON-made-.yaml'))).toBe(true)
  })

  it('may omit fields of its metadata: in a patch, and in the body of a subresource', () => {
    const at = (action: string): string => `Management/${action}/${below}`
    const merge = { action: 'Patch', patchType: 'application/merge-patch+json' }
    const { mutations } = readOutput(
      folderOf([
        ...files('{"data":{"k":"v"}}', metadata(merge), at('Patch')),
        ...files('spec: {audiences: [x]}', metadata({ action: 'CreateToken' }), at('CreateToken')),
      ]),
    )
    expect(mutations.map(({ mutation: { verb, subresource, name } }) => [verb, subresource, name])).toEqual([
      ['Create', 'token', 'a'],
      ['Patch', undefined, 'a'],
    ])
  })

  it('has a sensible order where none was recorded, and tolerates encoded names', () => {
    const recorded = output(
      { ...mutation, verb: 'Delete', name: 'z', body: '' },
      { ...mutation, verb: 'Apply' },
      mutation,
    )
    recorded.delete('Management/order.yaml')
    const old = new Map([...recorded].map(([name, text]) => [name, text.replace(/^name: /m, 'mame: ')] as const))
    const { mutations } = readOutput(folderOf(old))
    expect(inOrder(mutations).map(({ mutation: each }) => `${each.verb} ${each.name}`)).toEqual([
      'Create a',
      'Apply a',
      'Delete z',
    ])
  })

  const aliases = Array.from(
    { length: 9 },
    (_, at) => `${'abcdefghij'[at + 1]}: &${'abcdefghij'[at + 1]} [${Array(9).fill(`*${'abcdefghij'[at]}`).join(',')}]`,
  )
  const bomb = `a: &a [1,2,3,4,5,6,7,8,9]\n${aliases.join('\n')}\n`

  it.each<[string, ReadonlyMap<string, string>, RegExp]>([
    [
      'a name that escapes the directory',
      named('../../x'),
      /0000-body-a\.yaml: its name "\.\.\/\.\.\/x" must not contain "\/"\.$/,
    ],
    [
      'a name that is a path',
      named('/etc/passwd'),
      /0000-body-a\.yaml: its name "\/etc\/passwd" must not contain "\/"\.$/,
    ],
    ['a name that is encoded', named('..%2fx'), /0000-body-a\.yaml: its name "\.\.%2fx" must not contain "%"\.$/],
    ['a name of the parent folder', named('..'), /0000-body-a\.yaml: its name "\.\." must not be "\.\."\.$/],
    [
      'a namespace that escapes the directory',
      files(writeGoYaml(object), metadata({ namespace: '..' })),
      /0000-body-a\.yaml lies in Create\/namespaces\/shop\/core\/configmaps, but is about Create\/core\/configmaps by/,
    ],
    [
      'a resource that escapes the directory',
      files(writeGoYaml(object), metadata({ resourceType: { Group: '', Resource: '../nodes', Version: 'v1' } })),
      /0000-body-a\.yaml lies in .*, but is about Create\/namespaces\/shop\/nodes by its metadata\.$/,
    ],
    [
      'a resource in the metadata that escapes the directory',
      files(
        writeGoYaml(object),
        metadata({ resourceType: { Group: '', Resource: '../nodes', Version: 'v1' } }),
        'Management/Create/namespaces/shop/nodes',
      ),
      /0000-body-a\.yaml: "\.\.\/nodes" is no part of a URL\.$/,
    ],
    ...['../../secrets/b', 'status?fieldManager=other', 'status/..', '..', 'Status'].map(
      (subresource): [string, ReadonlyMap<string, string>, RegExp] => [
        `an invalid subresource: ${subresource}`,
        files(
          writeGoYaml(object),
          metadata({ subresource }),
          path.posix.join(`Management/Create${subresource}`, below),
        ),
        /0000-body-a\.yaml: ".*" is no subresource\.$/,
      ],
    ),
    [
      'an order that escapes the directory',
      new Map([['Management/order.yaml', 'order: [{file: ../../../etc/passwd, sequence: 1}]\n']]),
      /^Management\/order\.yaml names \.\.\/\.\.\/\.\.\/etc\/passwd, which is not below it\.$/,
    ],
    ['an invalid order', new Map([['Management/order.yaml', 'order: x\n']]), /order\.yaml: its order is no list\.$/],
    [
      'an order without positions',
      new Map([['Management/order.yaml', 'order: [{file: a}]\n']]),
      /order\.yaml: an entry has no file or no sequence\.$/,
    ],
    [
      'two field managers',
      new Map([
        ...files(writeGoYaml(object), metadata({ fieldManager: 'me' })),
        [`${place}/0000-options-a.yaml`, 'fieldManager: you\n'],
      ]),
      /its field manager is "you" by its options, by its metadata "me"\.$/,
    ],
    [
      'a patch of another object',
      new Map([
        [`${patched}/0000-body-a.yaml`, '{"metadata":{"name":"b"}}'],
        [`${patched}/0000-metadata-a.yaml`, metadata({ action: 'Patch', patchType: 'application/merge-patch+json' })],
      ]),
      /its name is "b", by its metadata "a"\.$/,
    ],
    [
      'a file of another object',
      files(writeGoYaml(object), metadata({ name: 'b' })),
      /its name is "a", by its metadata "b"/,
    ],
    ['another kind of object', files(writeGoYaml({ ...object, apiVersion: 'apps/v1' })), /its group is "apps"/],
    [
      'another namespace in the body',
      files(writeGoYaml({ ...object, metadata: { name: 'a', namespace: 'kube-system' } })),
      /its namespace is "kube-system"/,
    ],
    ['another action than its folder', files(writeGoYaml(object), metadata({ action: 'Delete' })), /lies in/],
    ['an unknown action', files(writeGoYaml(object), metadata({ action: 'Exec' })), /no action "Exec"/],
    ['a body that is not an object', files('[1, 2]'), /is no object/],
    ['a body without metadata', new Map([[`${place}/0000-body-a.yaml`, 'a: 1']]), /has no metadata beside it/],
    ['invalid YAML', files('a: ['), /0000-body-a.yaml/],
    ['a YAML bomb', files(bomb), /0000-body-a\.yaml: its aliases stand for too many values\.$/],
    ['a YAML bomb in metadata', files(writeGoYaml(object), metadata() + bomb), /0000-metadata-a\.yaml: its aliases/],
    [
      'a YAML bomb in options',
      new Map([...files(writeGoYaml(object)), [`${place}/0000-options-a.yaml`, bomb]]),
      /0000-options-a\.yaml: its aliases/,
    ],
    ['a YAML bomb in the order', new Map([['Management/order.yaml', bomb]]), /^Management\/order\.yaml: its aliases/],
    [
      'a YAML bomb in the results',
      new Map([['controller-results.yaml', bomb]]),
      /^controller-results\.yaml: its aliases/,
    ],
    [
      'few long values',
      files(`text: &text ${'x'.repeat(1e5)}\nall: [${Array(100).fill('*text').join(', ')}]\n`),
      /0000-body-a\.yaml: its aliases stand for more than 3145728 bytes\.$/,
    ],
    ['too many values', files('{"a":'.repeat(1e5) + '1' + '}'.repeat(1e5)), /0000-body-a\.yaml: .*(nested|deep)/],
    ['a folder that nests endlessly', new Map([['Management/a/b/c/d/e/f/g/h/i/j/k.yaml', '']]), /too deep/],
  ])('is refused as a whole for %s', (_, bad, why) => {
    const folder = folderOf([
      ...output({
        ...mutation,
        name: 'fine',
        body: writeGoYaml({ ...object, metadata: { name: 'fine', namespace: 'shop' } }),
      }),
      ...bad,
    ])
    expect(() => readOutput(folder)).toThrow(why)
    expect(() => readOutput(folder)).toThrow(expect.objectContaining({ code: 'MUS2002' }) as Error)
  })

  it('is rejected for links, pipes, files that are too large, and too many files', () => {
    const withLink = folderOf(output(mutation))
    symlinkSync('/etc/passwd', path.join(withLink, place, '1111-body-b.yaml'))
    expect(() => readOutput(withLink)).toThrow(/neither a file nor a folder/)
    const linked = folderOf(output(mutation))
    symlinkSync('/etc', path.join(linked, 'Configuration'))
    expect(() => readOutput(linked)).toThrow(/neither a file nor a folder/)
    const piped = folderOf(output(mutation))
    execFileSync('mkfifo', [path.join(piped, 'Management/pipe.yaml')])
    expect(() => readOutput(piped)).toThrow(/neither a file nor a folder/)
    const huge = folderOf(files(''))
    truncateSync(path.join(huge, place, '0000-body-a.yaml'), 2 ** 30)
    expect(() => readOutput(huge)).toThrow(/larger than/)
    const limits = { files: 3, fileBytes: 1000, bytes: 10_000 }
    expect(() => readOutput(folderOf(output(mutation, { ...mutation, verb: 'Update' })), limits)).toThrow(/more than 3/)
    const bytes = { files: 100, fileBytes: 1000, bytes: 100 }
    expect(() => readOutput(folderOf(output(mutation)), bytes)).toThrow(/more than 100 bytes/)
    // What aliases stand for counts with all the rest.
    const shared = `${writeGoYaml(object)}data: {a: &a ${'x'.repeat(200)}, b: *a, c: *a, d: *a}\n`
    const few = { files: 100, fileBytes: 1000, bytes: 1000 }
    expect(() => readOutput(folderOf(files(shared)), few)).toThrow(/it holds more than 1000 bytes/)
    expect(readOutput(folderOf(files(shared)), { ...few, bytes: 2000 }).mutations).toHaveLength(1)
  })

  it('is quoted in messages, up to a length', () => {
    const long = folderOf(files(writeGoYaml(object), metadata({ action: 'x'.repeat(1e6) })))
    expect(() => readOutput(long)).toThrow(/^Management.{900,1100}…\.$/)
  })

  it('reports unknown files, and missing results', () => {
    const folder = folderOf([
      ['core', 'x'],
      ['stdout.log', ''],
    ])
    expect(readOutput(folder)).toEqual({ mutations: [], results: undefined, unknown: ['core'] })
  })
})
