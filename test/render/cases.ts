/**
 * Renders that are compared with Helm: a chart of `charts/` and flags that both commands have. `golden/` holds what the real Helm
 * prints; `npm run test:real` makes it anew and compares.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const renderFolder: string = fileURLToPath(new URL('.', import.meta.url))

export interface RenderCase {
  /** The name of its golden file. */
  readonly name: string
  /** A folder of `charts/`. */
  readonly chart: string
  /** Flags of `helm template` that `muster render` has, too. Files are relative to `charts/`. */
  readonly flags: readonly string[]
}

/** What Helm prints: the output, or the error. */
export interface Golden {
  readonly output?: string
  readonly error?: string
}

const umbrella: Readonly<Record<string, readonly string[]>> = {
  plain: [],
  everything: ['--include-crds', '--set', 'tags.extra=true,second.enabled=true', '--api-versions', 'example.com/v1'],
  conditions: ['--set', 'second.enabled=false,cache.enabled=false,tags.extra=true'],
  'later-condition': ['--set', 'global.backends=false'],
  'condition-over-tag': ['--set', 'cache.enabled=true,tags.storage=false'],
  'not-boolean': ['--set-string', 'second.enabled=false,tags.extra=yes'],
  'nested-condition': ['--set', 'first.worker.enabled=false'],
  nulls: ['--set', 'removed=null,first.settings=null,nested.b.c=null,cache.table.b=null,tags.extra=true'],
  globals: ['--set', 'global.shared.level=user,global.new.deep=1,first.global.region=own'],
  'table-over-text': ['--set', 'name.first=1,nested=text'],
  upgrade: ['--is-upgrade', '--no-hooks', '--kube-version', 'v1.31.4-gke.100'],
  'show-only': ['--show-only', 'templates/objects.yaml', '--show-only', 'charts/first/templates/*.yaml'],
  'show-hook': ['--show-only', 'templates/hooks.yaml'],
  'show-nothing': ['--show-only', 'templates/missing.yaml'],
  'too-old': ['--kube-version', '1.24'],
  'section-is-text': ['--set', 'first=text'],
  'section-is-null': ['--set', 'first=null'],
}

/** The syntax of `--set` and its relatives. */
const printer: Readonly<Record<string, readonly string[]>> = {
  plain: [],
  files: ['--values', 'printer/more.yaml', '--values', 'printer/values.yaml'],
  typed: [
    '--set',
    'a=1,b=-7,c=0,d=007,e=1.5,f=true,g=False,h=NULL,i=,j=99999999999999999999,k=+3,l=-0,m=9223372036854775807',
  ],
  strings: ['--set-string', 'a=1,b=true,c=null,d='],
  lists: ['--set', 'a={x,y,1,true},b={},c={null},d={a},e[0]=x,e[2]=z,f[1].g=1,h[0][1]=deep'],
  'into-lists': ['--set', 'list[0]=changed,list[1].b=other,list[1].d=new,list[3]=far'],
  escapes: ['--set', String.raw`a\.b=1,c=x\,y,d=\{e\},f=back\\slash,nodeSelector.kubernetes\.io/role=main,g=a\=b`],
  nested: ['--set', 'table.two.three=4,table.two.four=5,table.one=null,table.new.deep.er=x'],
  json: ['--set-json', 'a={"b":[1,2.5,"x",null]},c=[],d="text", e=1 ,f=', '--set-json', '{"present":{"g":true}}'],
  'json-items': ['--set-json', 'list[0]={"x":1},list[1]=[2],n=12,o=1e3'],
  literals: ['--set-literal', 'a.b=x,y={z}\\w', '--set-literal', 'list[0]=[1]'],
  file: ['--set-file', 'a.text=printer/text.txt'],
  order: ['--set-string', 'a=second', '--set', 'a=first', '--set-json', 'a=0', '--set-literal', 'a=last'],
  overrides: ['--values', 'printer/more.yaml', '--set', 'present=flag,table.two=x', '--set', 'extra.a.b=y'],
  'empty-keys': ['--set', '=1,a.=2,b..c=3'],
  'early-end': ['--set', 'a=1,b.'],
  'early-end-of-index': ['--set', 'a=1,b[0'],
  'index-without-value': ['--set', 'b[0]'],
  'empty-item': ['--set', 'b[0]='],
  'empty-member-of-item': ['--set', 'b[0].c='],
  'brace-inside': ['--set', 'a=x{y,b=z}'],
  'behind-list': ['--set', 'a={x}b=1'],
  unicode: ['--set', 'größe=ß,emoji=🎉'],
  'no-value': ['--set', 'a'],
  'ends-with-comma': ['--set', 'a,b=1'],
  'negative-index': ['--set', 'a[-1]=x'],
  'huge-index': ['--set', 'a[65537]=x'],
  'no-index': ['--set', 'a[x]=1'],
  'open-list': ['--set', 'a={x,y'],
  'text-as-list': ['--set', 'present[0]=x'],
  'text-as-table': ['--set', 'present.a=x'],
  'bad-json': ['--set-json', 'a={x}'],
  'too-deep': ['--set', `${'a.'.repeat(31)}b=1`],
}

const guarded: Readonly<Record<string, readonly string[]>> = {
  fits: ['--set', 'mode=clustered,replicas=3,name=abc,choice={1,2}', '--set-json', 'choice=[1,2]'],
  misfits: ['--set', 'replicas=0,mode=x,other=1,inner.port=70000,name=ABCDEF'],
  types: ['--set-string', 'replicas=1', '--set', 'choice=1'],
  conditional: ['--set', 'mode=clustered'],
  missing: ['--set', 'mode=null'],
  skipped: ['--set', 'replicas=0', '--skip-schema-validation'],
}

const failing: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ['required', 'fail', 'nil', 'function', 'deep', 'yaml', 'annotation', 'type'].map((how) => [
    how,
    ['--set', `how=${how}`],
  ]),
)

const charts: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  umbrella,
  printer,
  guarded,
  failing,
  tricks: { plain: [], values: ['--set', 'count=5,text=x', '--namespace', 'other'] },
  versions: { plain: [] },
  old: { plain: [], off: ['--set', 'piece.on=false'] },
}

export const renderCases: readonly RenderCase[] = Object.entries(charts).flatMap(([chart, cases]) =>
  Object.entries(cases).map(([name, flags]) => ({ name: `${chart}-${name}`, chart, flags })),
)

export const release = 'rel'

export function goldenFile(chart: string): string {
  return path.join(renderFolder, 'golden', `${chart}.json`)
}

/** What Helm printed for the cases of a chart, by name. */
export function readGoldens(chart: string): Readonly<Record<string, Golden>> {
  return JSON.parse(readFileSync(goldenFile(chart), 'utf8')) as Record<string, Golden>
}

/** Flags with the full paths of their files. */
export function withPaths(flags: readonly string[]): readonly string[] {
  return flags.map((flag, index) => {
    const before = flags[index - 1]
    if (before === '--values') return path.join(renderFolder, 'charts', flag)
    return before === '--set-file' ? flag.replace('=', `=${path.join(renderFolder, 'charts')}/`) : flag
  })
}

/** Errors are compared without the order in which Go visits maps, and without what Helm adds for its own flags. */
export function comparableError(text: string): readonly string[] {
  return (
    text
      .replace(/^Error: /, '')
      // Helm quotes the value, which may be secret.
      .replaceAll(/'[^'\n]*' does not match pattern/g, 'value does not match pattern')
      .replace(/\n\nUse --debug flag to render out invalid YAML\s*$/, '')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .toSorted()
  )
}
