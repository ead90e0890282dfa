import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { readPlainYaml } from './plain-yaml.ts'

/** What the parser makes of a text; undefined if it refuses. */
function parsed(text: string): unknown {
  try {
    return readYaml(text, { strict: true })
  } catch {
    return undefined
  }
}

const kubeconfig = `apiVersion: v1
# written by a program
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://127.0.0.1:6443
    insecure-skip-tls-verify: true
  name: kind-kind
contexts:
- context:
    cluster: kind-kind
    user: kind-kind
  name: kind-kind
current-context: kind-kind
kind: Config
preferences: {}
users:
- name: kind-kind
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - get-token
      - "--id=1"
      command: aws
      env: null
      interactiveMode: IfAvailable
      provideClusterInfo: false
    token: 'eyJ.abc_-'
    username: ""
    password:
`

/** Mostly what programs write, now and then what they do not. */
function mostly(usual: readonly string[], odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  )
}

const indent = mostly(['', '', '  ', '    '], [' ', '\t', '      '])
const dash = mostly(['', '', '- '], ['-  ', '- - ', '-', '? '])
const key = mostly(['a: ', 'b: ', 'c: ', 'd-e: ', ''], ['on: ', '"k": ', '1: ', 'a b: ', '# ', 'a:', 'a : '])
const value = mostly(
  ['', 'a', 'v1', 'https://h:1', 'a:b', 'x#y', 'LS0t==', '"q"', "'q'", '{}', '[]', 'true', 'null'],
  `a:|b #c|- a|-|--|True|no|y|~|{a: 1}|"q\\n"|'it''s'|"a" b|1|1.5|0x1|2001-01-01|>|&a|*a|!t|<<|a b|a, b|é|\t|@a|%a|?|=|---|...`.split(
    '|',
  ),
)
const line = fc.tuple(indent, dash, key, value).map((pieces) => pieces.join(''))

describe('YAML as written by programs', () => {
  it('is parsed completely: a kubeconfig needs no YAML parser', () => {
    expect(readPlainYaml(kubeconfig)).toEqual(parsed(kubeconfig))
    expect(readPlainYaml(kubeconfig)).toMatchObject({ users: [{ user: { password: null, exec: { env: null } } }] })
  })

  it('equals the result of the YAML parser, or is left to it', () => {
    let count = 0
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), (lines) => {
        const text = lines.join('\n')
        const read = readPlainYaml(text)
        if (read === undefined) return
        count++
        expect(read).toEqual(parsed(text))
      }),
      { numRuns: 10_000 },
    )
    expect(count).toBeGreaterThan(300)
  })

  it.each(['', '# nothing', ' a: b', 'a: b\n  c', 'a: |\n  b', 'a: b\na: c', 'a: 012', 'a: é', 'a:\tb', 'a: b\r\n'])(
    '%j is left to the YAML parser',
    (text) => {
      expect(readPlainYaml(text)).toBeUndefined()
    },
  )
})
