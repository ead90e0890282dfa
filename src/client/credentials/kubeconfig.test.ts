import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clientErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isEmptyKubeconfig, mergeKubeconfigs, parseKubeconfig, readKubeconfig } from './kubeconfig.ts'

const sample = `
apiVersion: v1
kind: Config
current-context: one
preferences: {}
clusters:
- name: a
  cluster:
    server: https://a:6443
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
    extensions:
    - name: tool
      extension: {seen: 2026-01-01}
contexts:
- name: one
  context: {cluster: a, user: u, namespace: web}
users:
- name: u
  user:
    token: abc
    as: jane
    as-groups: [g1, g2]
`

describe('parseKubeconfig', () => {
  it('reads YAML, and JSON with the same result', async () => {
    const fromYaml = await parseKubeconfig(sample, 'config')
    expect(fromYaml.currentContext).toBe('one')
    expect(fromYaml.clusters.get('a')?.value).toMatchObject({
      server: 'https://a:6443',
      certificateAuthorityData: '-----BEGIN CERTIFICATE-----\n',
    })
    expect(fromYaml.contexts.get('one')?.value).toEqual({ cluster: 'a', user: 'u', namespace: 'web' })
    expect(fromYaml.users.get('u')?.value).toMatchObject({ token: 'abc', as: 'jane', asGroups: ['g1', 'g2'] })
    const { readYaml } = await import('../../kube/yaml/yaml.ts')
    expect(await parseKubeconfig(JSON.stringify(readYaml(sample)), 'config')).toEqual(fromYaml)
  })

  it('records the source of each entry, and the base of its paths', async () => {
    const { users } = await parseKubeconfig('{users: [{name: a}, {name: b}]}', '/home/me/.kube/config', { file: true })
    expect(users.get('b')?.place).toEqual({
      source: '/home/me/.kube/config',
      path: 'users[1].user',
      directory: '/home/me/.kube',
    })
  })

  it.each([
    ['nothing', ''],
    ['blanks', ' \n\n'],
    ['a comment', '# later\n'],
    ['an empty file of kubectl', 'apiVersion: v1\nkind: Config\nclusters: null\ncontexts: null\nusers: null\n'],
  ])('treats %s as an empty kubeconfig', async (_name, content) => {
    expect(isEmptyKubeconfig(await parseKubeconfig(content, 'config'))).toBe(true)
  })

  it('accepts a byte-order mark', async () => {
    expect((await parseKubeconfig(`\uFEFF${sample}`, 'config')).currentContext).toBe('one')
  })

  it('supports both spellings of impersonation', async () => {
    const { users } = await parseKubeconfig('{users: [{name: u, user: {act-as: jane, act-as-groups: [g]}}]}', 'config')
    expect(users.get('u')?.value).toMatchObject({ as: 'jane', asGroups: ['g'] })
  })

  it.each([
    ['binary garbage', '\u0000\u0001\uFFFD', 'config: it is not text'],
    ['UTF-16 read as UTF-8', '\uFFFD\uFFFDa\u0000p\u0000i\u0000', 'PowerShell'],
    [
      'broken YAML',
      'clusters:\n- name: a\n  cluster: {server: "https\n',
      'config: it is not valid YAML: line 4, column 1: ',
    ],
    ['two documents', 'users: []\n---\nusers: []\n', 'it is not valid YAML: there is more than one document'],
    ['one section twice', 'users: []\nusers: []\n', 'it is not valid YAML: line 2, column 1: '],
    ['broken JSON', '{"clusters": [', 'config: it is not valid JSON or YAML: line 1, column '],
    ['a list', '- a\n- b\n', 'config: the document must be a mapping, but is a list'],
    ['plain words', 'hello', 'config: the document must be a mapping, but is text'],
    [
      'another kind',
      'apiVersion: v1\nkind: Secret\n',
      'this is a v1 Secret, where a kubeconfig (v1 Config) is expected',
    ],
    [
      'a number as a name',
      'contexts: [{name: 12}]',
      'contexts[0].name must be text, but is a number: put it in quotes',
    ],
    ['a missing name', 'users: [{user: {}}]', 'config: users[0].name is missing'],
    ['a good entry after a bad one', 'users: [1, {name: a, user: {token: 1}}]', 'users[1].user.token must be text'],
    ['a name used twice', 'users: [{name: a}, {name: a}]', 'users has "a" twice, again at users[1].user'],
    ['a mapping of clusters', 'clusters: {a: {}}', 'clusters must be a list, but is a mapping'],
    [
      'a command that is a list',
      'users: [{name: a, user: {exec: {command: [a]}}}]',
      'users[0].user.exec.command must be text',
    ],
    [
      'an env value that is a number',
      'users: [{name: a, user: {exec: {env: [{name: A, value: 1}]}}}]',
      'users[0].user.exec.env[0].value must be text',
    ],
    ['plain PEM in data', 'users: [{name: a, user: {client-key-data: "-----BEGIN X-----"}}]', 'encode it with base64'],
  ])('reports file and location for %s', async (_name, content, words) => {
    await expect(parseKubeconfig(content, 'config')).rejects.toMatchObject({
      name: 'KubeconfigMalformed',
      message: expect.stringContaining(words) as string,
    })
  })

  it('reports all problems of a file at once', async () => {
    const content = 'clusters: 1\ncontexts: [{name: 1}]\nusers: [{name: a, user: {token: 1}}]'
    await expect(parseKubeconfig(content, 'config')).rejects.toThrow(
      'config: clusters must be a list, but is a number; contexts[0].name must be text, but is a number: put it in quotes; ' +
        'users[0].user.token must be text, but is a number: put it in quotes.',
    )
  })

  it('fails only with a MusterError, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), yamlLike()), async (content) => {
        const outcome = await parseKubeconfig(content, 'config').catch((error: unknown) => error)
        expect(outcome).toSatisfy(
          (result) => isMusterError(result, clientErrors.KubeconfigMalformed) || !(result instanceof Error),
        )
      }),
      { numRuns: 500 },
    )
  })
})

describe('mergeKubeconfigs', () => {
  const one = { 'current-context': '', clusters: [{ name: 'a', cluster: { server: 'https://one' } }] }
  const two = {
    'current-context': 'two',
    clusters: [
      { name: 'a', cluster: { server: 'https://two', 'tls-server-name': 'x' } },
      { name: 'b', cluster: { server: 'https://b' } },
    ],
  }

  it('lets the first file win for each name, and for the current context', () => {
    const merged = mergeKubeconfigs([readKubeconfig(one, 'one'), readKubeconfig(two, 'two')])
    expect(merged.sources).toEqual(['one', 'two'])
    expect(merged.currentContext).toBe('two')
    expect(merged.clusters.get('a')?.value).toMatchObject({ server: 'https://one', tlsServerName: undefined })
    expect(merged.clusters.get('a')?.place.source).toBe('one')
    expect(merged.clusters.get('b')?.value.server).toBe('https://b')
  })

  it('is associative and idempotent', () => {
    const config = fc
      .uniqueArray(
        fc.record({
          name: fc.constantFrom('a', 'b', 'c'),
          cluster: fc.record({ server: fc.constantFrom('https://1', 'https://2', 'https://3') }),
        }),
        {
          selector: ({ name }) => name,
        },
      )
      .map((clusters) => ({ clusters, 'current-context': clusters[0]?.name ?? '' }))
    fc.assert(
      fc.property(config, config, config, (x, y, z) => {
        const [a, b, c] = [readKubeconfig(x, 'x'), readKubeconfig(y, 'y'), readKubeconfig(z, 'z')]
        expect(mergeKubeconfigs([mergeKubeconfigs([a, b]), c])).toEqual(mergeKubeconfigs([a, mergeKubeconfigs([b, c])]))
        expect(mergeKubeconfigs([a, a]).clusters).toEqual(a.clusters)
      }),
    )
  })
})

/** Text with the pieces that YAML is made of, in any order. */
function yamlLike(): fc.Arbitrary<string> {
  const piece = fc.constantFrom(
    'clusters:',
    'users',
    ': ',
    '\n',
    '  ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '&a',
    '*a',
    '!!x',
    '#',
    '<<',
    '\t',
    'token: x',
    '---',
    '? ',
  )
  return fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
}
