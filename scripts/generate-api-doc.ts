/**
 * Writes docs/api.md, the reference of the TypeScript API, from the entries of the package: `node scripts/generate-api-doc.ts`. A
 * test compares the file with the sources.
 *
 * Every export is a declaration with explicit types and a formatted layout, so a reader of lines is enough: a declaration begins with
 * `export` in the first column, and its documentation is the comment above it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

export const apiDocUrl: URL = new URL('../docs/api.md', import.meta.url)

interface Declaration {
  readonly name: string
  readonly kind: 'function' | 'interface' | 'type' | 'const' | 'class'
  /** The comment above it, without its stars. */
  readonly docs: string
  /** Without bodies of functions and values of constants. */
  readonly text: string
}

export function apiDoc(): string {
  const sections = entries().map(([entry, file]) => sectionOf(entry, file))
  const rows = entries().map(([entry, file]) => `| [\`${entry}\`](#${anchorOf(entry)}) | ${summaryOf(file)} |`)
  return `# TypeScript API

Generated from the declarations: what the entries of the package export. \`index.ts\` of each folder is the whole public surface.
Types of Kubernetes objects are in \`@muster-dev/muster/kube/types/GROUP/VERSION\`.

| entry | what it is |
| --- | --- |
${rows.join('\n')}

${sections.join('\n\n')}
`
}

/** The entries of the package, with the file of each. */
function entries(): readonly (readonly [string, string])[] {
  const { name, exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, { readonly 'muster-source'?: string }>>
  }
  return Object.entries(exports).flatMap(([entry, { 'muster-source': file }]) =>
    file === undefined || entry.includes('*') ? [] : [[`${name}${entry.slice(1)}`, path.join(root, file)] as const],
  )
}

function anchorOf(entry: string): string {
  return entry.replaceAll(/[@/]/g, '')
}

/** The first sentence about an entry: of its README, or of its index. */
function summaryOf(file: string): string {
  const readme = path.join(path.dirname(file), 'README.md')
  const title = existsSync(readme) ? /^# \w+: (.+)/.exec(readFileSync(readme, 'utf8'))?.[1] : undefined
  const header = /^\/\*\*\s*\n? ?\*? ?([^.\n]+)/.exec(readFileSync(file, 'utf8'))?.[1]
  return title ?? header?.trim() ?? ''
}

function sectionOf(entry: string, file: string): string {
  const declared = exportsOf(file).toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const kinds = new Set(declared.filter(isBuiltinKind).map(({ name }) => name))
  const others = declared.filter(({ name }) => !kinds.has(name))
  const values = others.filter(({ kind }) => kind !== 'interface' && kind !== 'type')
  const types = others.filter(({ kind }) => kind === 'interface' || kind === 'type')
  const listed = [...kinds].map((name) => `\`${name}\``).join(', ')
  return [
    `## ${entry}`,
    ...(kinds.size > 0 ? [`Built-in kinds, each as a value and as the type of its objects: ${listed}.`] : []),
    ...(values.length > 0 ? [`### Values of ${entry}`, ...values.map(entryOf)] : []),
    ...(types.length > 0 ? [`### Types of ${entry}`, ...types.map(entryOf)] : []),
  ].join('\n\n')
}

/** `Deployment` is a resource, and the type of its objects. */
function isBuiltinKind({ text }: Declaration): boolean {
  return /^const (\w+): TypedResource<\1>$/.test(text)
}

function entryOf({ name, docs, text }: Declaration): string {
  // In running text, a line that begins with a sign of Markdown would be read as such.
  const prose = docs.replaceAll(/^( *)([*+#>-])(?= )/gm, '$1- ').replaceAll('<', String.raw`\<`)
  return [`#### ${name}`, ...(docs === '' ? [] : [prose]), `\`\`\`ts\n${text}\n\`\`\``].join('\n\n')
}

/** Everything that a file exports, followed through re-exports. */
function exportsOf(file: string): readonly Declaration[] {
  const text = readFileSync(file, 'utf8')
  const target = (from: string): string => path.join(path.dirname(file), from)
  const named = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(
    ([, list = '', from = '']) => {
      const pairs = list.split(',').flatMap((each) => {
        const [name = '', as = name] = each
          .trim()
          .replace(/^type /, '')
          .split(' as ')
        return name === '' ? [] : [[name, as] as const]
      })
      const declared = exportsOf(target(from))
      const found = pairs.flatMap(([name, as]) =>
        declared
          .filter((one) => one.name === name)
          .map(({ kind, docs, text: shown }) => ({ name: as, kind, docs, text: shown })),
      )
      const missing = pairs.filter(([, as]) => !found.some(({ name }) => name === as)).map(([name]) => name)
      if (missing.length > 0) throw new Error(`${file}: no declaration of ${missing.join(', ')} is found in ${from}.`)
      return found
    },
  )
  const all = [...text.matchAll(/^export \* from '([^']+)'/gm)].flatMap(([, from = '']) => exportsOf(target(from)))
  return [...declarationsIn(text), ...named, ...all]
}

const start = /^export (?:declare )?(?:async )?(?:abstract )?(function\*?|interface|type|const|class) (\w+)/

function declarationsIn(text: string): readonly Declaration[] {
  const lines = text.split('\n')
  return lines.flatMap((line, at): readonly Declaration[] => {
    const [, word = '', name = ''] = start.exec(line) ?? []
    if (name === '') return []
    const kind = word.replace('*', '') as Declaration['kind']
    return [{ name, kind, docs: docsAbove(lines, at), text: declarationAt(lines, at, kind) }]
  })
}

function docsAbove(lines: readonly string[], at: number): string {
  if (lines[at - 1]?.endsWith('*/') !== true) return ''
  const first = lines.findLastIndex((line, index) => index < at && line.startsWith('/**'))
  return lines
    .slice(first, at)
    .map((line) => line.replace(/^\s*(?:\/\*\*|\*\/|\*)? ?/, '').replace(/\s*\*\/$/, ''))
    .join('\n')
    .trim()
}

/** From its first line to the end of its types. */
function declarationAt(lines: readonly string[], at: number, kind: Declaration['kind']): string {
  const rest = lines.slice(at)
  const shown = (text: string): string => text.replace(/^export (?:declare )?/, '')
  switch (kind) {
    case 'interface':
    case 'class': {
      const end = rest[0]!.endsWith('}') ? 0 : rest.findIndex((line, index) => index > 0 && line === '}')
      const whole = rest.slice(0, end + 1)
      return shown((kind === 'class' ? withoutBodies(whole) : whole).join('\n'))
    }
    case 'function':
      return shown(headOf(rest)).replace(/^async /, '')
    case 'const':
      return shown(
        rest
          .slice(0, 12)
          .join('\n')
          .split(/ =(?!>)/)[0]!,
      )
    default: {
      const end = rest.findIndex((line, index) => index > 0 && !/^[ \t})\]>|&]/.test(line))
      return shown(
        rest
          .slice(0, end < 0 ? rest.length : end)
          .join('\n')
          .trimEnd(),
      )
    }
  }
}

/** The lines of a function before its body. A line that ends with `: {` begins the type that it returns. */
function headOf(lines: readonly string[]): string {
  const isEnd = (line: string): boolean =>
    line.endsWith(' {') && !/[:|&<] \{$/.test(line) && /^(?:export|[)}>])/.test(line)
  const end = lines.findIndex(isEnd)
  return lines
    .slice(0, end + 1)
    .join('\n')
    .replace(/ \{$/, '')
}

/** Properties and the heads of methods, without private members. */
function withoutBodies(lines: readonly string[]): readonly string[] {
  const [head = '', ...rest] = lines
  const members = rest.filter((line) => /^ {2}(?:readonly |static |get |\w+\().*[^(]$/.test(line))
  return [head, ...members.map((line) => line.replace(/ \{$/, '').replace(/ = .*/, '')), '}']
}

if (import.meta.main) writeFileSync(apiDocUrl, apiDoc())
