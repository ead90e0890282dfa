/** Formats two texts as a unified diff. */
import { diff } from 'node:util'

export interface DiffLine {
  readonly kind: 'head' | 'hunk' | 'same' | 'removed' | 'added'
  readonly text: string
}

interface Line {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Undefined: the file does not exist on that side. Empty when both are equal. */
export function unified(
  before: string | undefined,
  after: string | undefined,
  name: string,
  context = 3,
): readonly DiffLine[] {
  const lines = compared(linesOf(before), linesOf(after))
  const changed = lines.flatMap(({ kind }, index) => (kind === 'same' ? [] : [index]))
  if (changed.length === 0) return []
  return [
    { kind: 'head', text: `--- ${before === undefined ? '/dev/null' : name}` },
    { kind: 'head', text: `+++ ${after === undefined ? '/dev/null' : name}` },
    ...hunks(changed, context, lines.length).flatMap(([from, to]) => hunk(lines, from, to)),
  ]
}

function linesOf(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function compared(before: readonly string[], after: readonly string[]): readonly Line[] {
  if (before.length === 0) return after.map((text) => ({ kind: 'added', text }))
  if (after.length === 0) return before.map((text) => ({ kind: 'removed', text }))
  const found = diff(before, after).map(([operation, text]): Line => ({ kind: kinds[operation], text }))
  return inOrder(found)
}

const kinds = { '-1': 'added', '0': 'same', '1': 'removed' } as const

/** Removed lines before added ones, between two unchanged lines. */
function inOrder(lines: readonly Line[]): readonly Line[] {
  const out: Line[] = []
  let added: Line[] = []
  for (const line of lines) {
    if (line.kind === 'added') added.push(line)
    else {
      if (line.kind === 'same') {
        for (const one of added) out.push(one)
        added = []
      }
      out.push(line)
    }
  }
  return [...out, ...added]
}

/** Changes that are close to each other share a hunk. */
function hunks(changed: readonly number[], context: number, length: number): readonly (readonly [number, number])[] {
  const found: [number, number][] = []
  for (const at of changed) {
    const last = found.at(-1)
    const to = Math.min(at + context + 1, length)
    if (last && at - context <= last[1]) last[1] = to
    else found.push([Math.max(at - context, 0), to])
  }
  return found
}

function hunk(lines: readonly Line[], from: number, to: number): readonly DiffLine[] {
  const count = (part: readonly Line[], without: Line['kind']): number =>
    part.filter(({ kind }) => kind !== without).length
  const part = lines.slice(from, to)
  const range = (without: Line['kind']): string => {
    const [start, size] = [count(lines.slice(0, from), without), count(part, without)]
    return `${size === 0 ? start : start + 1},${size}`
  }
  return [{ kind: 'hunk', text: `@@ -${range('added')} +${range('removed')} @@` }, ...part.map(marked)]
}

function marked({ kind, text }: Line): DiffLine {
  const sign = { same: ' ', removed: '-', added: '+' }[kind]
  return { kind, text: `${sign}${text}` }
}
