/**
 * A large file of a must-gather directory, in pieces. A list of a million objects is longer than a string may be, and of most
 * of them nobody wants to know: so the text is cut at the places that show without reading it, at every item of the list and
 * every document, and one piece at a time is in memory.
 *
 * In YAML those places are lines: what belongs to an item is further in than its dash. In JSON they are brackets.
 */
import { MusterError } from '../../kube/errors.ts'

export interface Piece {
  /** Of the file, counted from 0. */
  readonly document: number
  /** One item of the list that the document is; otherwise the document, without its items if it has any. */
  readonly isItem: boolean
  readonly hasItems: boolean
  readonly text: string
}

/** More than any server takes for one object. */
const longestPiece = 32 * 1024 * 1024

/** The parts of a piece, while it grows. */
interface Growing {
  add(part: string): void
  /** Everything so far; then it is empty again. */
  take(): string
}

function growing(separator: string): Growing {
  let parts: string[] = []
  let length = 0
  return {
    add(part) {
      length += part.length
      if (length > longestPiece) {
        throw new MusterError('GatherUnreadable', `one piece of it is longer than ${longestPiece} characters.`)
      }
      parts.push(part)
    },
    take() {
      const text = parts.join(separator)
      parts = []
      length = 0
      return text
    },
  }
}

export async function* piecesOf(chunks: AsyncIterable<string>, isJson: boolean): AsyncGenerator<Piece> {
  const cutter = isJson ? jsonCutter() : yamlCutter()
  for await (const chunk of chunks) yield* cutter.cut(chunk)
  yield* cutter.end()
}

interface Cutter {
  cut(this: void, chunk: string): Generator<Piece>
  end(this: void): Generator<Piece>
}

function yamlCutter(): Cutter {
  const item = growing('\n')
  const rest = growing('\n')
  let document = 0
  let hasItems = false
  let isEmpty = true
  /** Behind `items:`; then, how far in its dashes are. */
  let place: 'outside' | 'before' | 'inside' = 'outside'
  let dash = '-'
  let inner = ' '
  let unended = ''

  function* line(text: string): Generator<Piece> {
    if (/^(?:---|\.\.\.)(?:\s|$)/.test(text)) {
      yield* endDocument()
      if (text.length > 4) rest.add(text.slice(4))
      return
    }
    if (place === 'before') {
      const [, found] = /^( *-)(?:\s|$)/.exec(text) ?? []
      if (found !== undefined) {
        ;[dash, inner, place, hasItems] = [found, ' '.repeat(found.length), 'inside', true]
        item.add(text)
        return
      }
      if (/^\s*(?:#|$)/.test(text)) return
      // It is no list, or not one of this form: it is read as it is.
      rest.add('items:')
      place = 'outside'
    } else if (place === 'inside') {
      if (text.startsWith(dash) && /^\s|^$/.test(text.slice(dash.length, dash.length + 1))) yield* endItem()
      else if (isOutside(text, dash.length)) {
        yield* endItem()
        place = 'outside'
      }
      if (place === 'inside') {
        item.add(text)
        return
      }
    }
    if (/^items:\s*(?:#.*)?$/.test(text)) place = 'before'
    else rest.add(text)
    isEmpty = false
  }

  function* endItem(): Generator<Piece> {
    yield { document, isItem: true, hasItems, text: item.take() }
  }

  function* endDocument(): Generator<Piece> {
    if (place === 'inside') yield* endItem()
    const text = rest.take()
    if (!isEmpty || text !== '') yield { document: document++, isItem: false, hasItems, text }
    ;[hasItems, place, isEmpty] = [false, 'outside', true]
  }

  return {
    *cut(chunk) {
      const lines = (unended + chunk).split('\n')
      unended = lines.pop()!
      if (unended.length > longestPiece) rest.add(unended)
      for (const text of lines) {
        // Most lines by far are further in than the dash of their item.
        if (place === 'inside' && text.startsWith(inner)) item.add(text)
        else yield* line(text)
      }
    },
    *end() {
      if (unended !== '') yield* line(unended)
      yield* endDocument()
    },
  }
}

/** Not as far in as what belongs to the item; lines that say nothing belong to anything. */
function isOutside(text: string, indent: number): boolean {
  const at = text.search(/\S/)
  return at >= 0 && at < indent && text[at] !== '#'
}

function jsonCutter(): Cutter {
  const item = growing('')
  const rest = growing('')
  const word = growing('')
  let document = 0
  let depth = 0
  let hasItems = false
  let isInItems = false
  let isInString = false
  let isEscaped = false
  /** The last text on the first level, and whether a colon has made it a key. */
  let last = ''
  let key = ''

  return {
    *cut(chunk) {
      /** Where begins what was not yet handed to the piece that is growing. */
      let from = 0
      const hand = (to: number): void => {
        const part = chunk.slice(from, to)
        from = to
        if (!isInItems) rest.add(part)
        else if (depth > 2) item.add(part)
      }
      for (let at = 0; at < chunk.length; at++) {
        const character = chunk[at]!
        if (isInString) {
          if (isEscaped) isEscaped = false
          else if (character === '\\') isEscaped = true
          else if (character === '"') {
            isInString = false
            if (depth === 1) last = word.take()
          }
          if (isInString && depth === 1) word.add(character)
          continue
        }
        switch (character) {
          case '"':
            isInString = true
            break
          case ':':
            if (depth === 1) key = last
            break
          case ',':
            if (depth === 1) key = ''
            break
          case '{':
          case '[':
            if (depth === 1 && character === '[' && key === 'items') {
              hand(at + 1)
              ;[isInItems, hasItems] = [true, true]
            } else if (isInItems && depth === 2) hand(at)
            depth++
            break
          case '}':
          case ']':
            if (isInItems && depth === 3) {
              hand(at + 1)
              yield { document, isItem: true, hasItems, text: item.take() }
            }
            if (isInItems && depth === 2) {
              hand(at)
              isInItems = false
            }
            depth--
            if (depth === 0) {
              hand(at + 1)
              yield { document: document++, isItem: false, hasItems, text: rest.take() }
              ;[hasItems, key] = [false, '']
            }
            break
          default:
        }
      }
      hand(chunk.length)
    },
    *end() {
      const text = rest.take()
      if (text.trim() !== '') yield { document, isItem: false, hasItems, text }
    },
  }
}
