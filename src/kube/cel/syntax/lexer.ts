/** Tokens of an expression. White space and comments are skipped; a character that starts no token is an issue. */
import { type Issue, mostIssues } from './source.ts'

type TokenKind = 'end' | 'float' | 'int' | 'uint' | 'string' | 'bytes' | 'identifier' | 'escaped' | 'symbol'

export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly at: number
}

const escape = String.raw`\\[abfnrtv"'\\?\x60]|\\[xX][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[0-3][0-7]{2}`
const quoted = [
  String.raw`[rR]"""[^]*?"""`,
  String.raw`[rR]'''[^]*?'''`,
  String.raw`[rR]"[^"\n\r]*"`,
  String.raw`[rR]'[^'\n\r]*'`,
  String.raw`"""(?:${escape}|[^\\])*?"""`,
  String.raw`'''(?:${escape}|[^\\])*?'''`,
  String.raw`"(?:${escape}|[^\\"\n\r])*"`,
  String.raw`'(?:${escape}|[^\\'\n\r])*'`,
].join('|')

const words = new RegExp(
  [
    String.raw`(?<space>[\t \r\n\f]+|//[^\n]*)`,
    String.raw`(?<bytes>[bB](?:${quoted}))`,
    `(?<string>${quoted})`,
    String.raw`(?<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)`,
    String.raw`(?<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])`,
    String.raw`(?<int>0x[0-9a-fA-F]+|\d+)`,
    String.raw`(?<identifier>[A-Za-z_][A-Za-z0-9_]*)`,
    String.raw`(?<escaped>\x60[A-Za-z0-9_.\-/ ]+\x60)`,
    String.raw`(?<symbol>==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%])`,
  ].join('|'),
  'uy',
)

const symbolWords = new Set(['in', 'true', 'false', 'null'])

export function readTokens(text: string, issues: Issue[]): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    words.lastIndex = at
    const groups = words.exec(text)?.groups
    const [kind, word] = Object.entries(groups ?? {}).find(([, found]) => found !== undefined) ?? []
    if (kind === undefined || word === undefined) {
      if (issues.length === mostIssues) {
        issues.push({ at, message: `Syntax error: More than ${mostIssues} syntax errors` })
        break
      }
      const bad = unreadable(text, at)
      issues.push({ at, message: `Syntax error: token recognition error at: '${shown(bad)}'` })
      at += bad.length
      continue
    }
    if (kind !== 'space') {
      tokens.push({ kind: symbolWords.has(word) ? 'symbol' : (kind as TokenKind), text: word, at })
    }
    at += word.length
  }
  return [...tokens, { kind: 'end', text: '<EOF>', at: text.length }]
}

const doubleQuoted = new RegExp(String.raw`^(?:${escape}|[^\\"\n\r])*`, 'u')
const singleQuoted = new RegExp(String.raw`^(?:${escape}|[^\\'\n\r])*`, 'u')

/** How far the real lexer reads before it gives up: an unterminated string is one token. */
function unreadable(text: string, at: number): string {
  const rest = text.slice(at)
  const open = /^[bB]?[rR]?(?:'|")/.exec(rest)?.[0]
  if (open === undefined)
    return /^(?:&(?!&)|\|(?!\|)|=(?!=))./su.exec(rest)?.[0] ?? String.fromCodePoint(rest.codePointAt(0)!)
  const quote = open.at(-1)!
  const body = (quote === '"' ? doubleQuoted : singleQuoted).exec(rest.slice(open.length))![0]
  const next = rest.slice(open.length + body.length)
  // An invalid escape is shown up to the character that makes it invalid.
  const wrong = /^\\(?:[xXuU][0-9a-fA-F]*|[0-3][0-7]?)?[^]?/u.exec(next)?.[0] ?? next.slice(0, 1)
  return open + body + wrong
}

function shown(text: string): string {
  return text.replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
}
