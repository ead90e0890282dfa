import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readBlockYaml } from './block-yaml.ts'
import { readYamlDocuments } from './yaml.ts'

const scalars = [
  'web',
  'a b',
  'a  b ',
  'no',
  'y',
  'NULL',
  '~',
  'null',
  'true',
  'False',
  '1',
  '-1',
  '0777',
  '1_000',
  '1.10',
  '1e3',
  '.5',

  '.inf',
  '-',
  '--',
  '-a',
  '<<',
  '=',
  'a:',
  'a: b',
  'a:b',
  'http://x:1/y',
  'x #y',
  'x#y',
  '# only',
  '12345678901234567890',

  '"x"',
  '"x" # y',
  '"x"#y',
  '"a\\n"',
  "'it''s'",
  "'x'",
  '"x" y',
  "''",
  '{}',
  '[]',
  '{ a: 1 }',
  '[a, b]',
  '{} # y',
  '&a b',
  '*a',
  '!t x',

  '|',
  '|-',
  '|+',
  '|2',
  '| # y',
  '>',
  '>-',
  '%a',
  '@a',
  '?',
  '? a',
  ':',
  ', a',
  '$(A)',
  '(a)',
  '+1',
  '+',
  '.',
  '../a',
  'é',
  '\u{2028}',
  'a\tb',
] as const

/** Flow collections, most of them valid. */
const flow = fc.array(
  fc.constantFrom(
    '{',
    '{ ',
    '}',
    ' }',
    '[',
    ']',
    ', ',
    ',',
    'a: ',
    'b: ',
    'a:',
    'web',
    '1',
    'no',
    '"x"',
    "'y'",
    ' ',
    'u:v',
    '-',
    '#',
    ' #',
  ),
  { minLength: 2, maxLength: 12 },
)

const line = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 6),
    fc.constantFrom('', '', '', '- ', '- ', '-   ', '- - ', '-'),
    fc.constantFrom('a: ', 'b: ', 'name:', 'x.y/z-1: ', 'c:   ', '', '', 'no: ', '1: ', '"q": ', 'a : ', '__proto__: '),
    fc.oneof(
      fc.constantFrom('', '', ...scalars),
      flow.map((parts) => `${parts[0] === '[' ? '[' : '{ a: '}${parts.join('')}`),
    ),
  )
  .map(([indent, dashes, name, value]) => `${' '.repeat(indent)}${dashes}${name}${value}`)

const text = fc
  .tuple(
    fc.array(
      fc.oneof({ weight: 8, arbitrary: line }, fc.constantFrom('', '  ', '      ', '# note', '  # note', '---', '...')),
      {
        maxLength: 8,
      },
    ),
    fc.constantFrom('', '\n', '\n\n', '\n  '),
  )
  .map(([lines, end]) => lines.join('\n') + end)

function outcome(document: string): unknown {
  try {
    return readYamlDocuments(document)
  } catch {
    return 'an error'
  }
}

describe('YAML of the usual form', () => {
  it('is what the parser reads', () => {
    fc.assert(
      fc.property(text, (document) => {
        if (readBlockYaml(document, (plain) => plain) === undefined) return
        // A tab leaves it to the parser.
        expect(outcome(document)).toEqual(outcome(`#\t\n${document}`))
      }),
      { numRuns: 3000 },
    )
  })

  it('is read without the parser: mappings, sequences, scalars, comments, literal blocks', () => {
    const document = `# a chart's manifest
apiVersion: v1
kind: ConfigMap # not a Secret
metadata:
  name: "web"
  labels: {}

data:
  run.sh: |
    #!/bin/sh
    if true; then
      echo

    fi
  args:
  - first
  - name: second
    value: 'a b'
  - - nested
  flow: { verbs: [get, "list"], empty: [] } # one line
`
    expect(readBlockYaml(document, (plain) => plain)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'web', labels: {} },
      data: {
        flow: { verbs: ['get', 'list'], empty: [] },
        'run.sh': '#!/bin/sh\nif true; then\n  echo\n\nfi\n',
        args: ['first', { name: 'second', value: 'a b' }, ['nested']],
      },
    })
  })
})
