/**
 * Splits a large file of a must-gather directory into pieces, without parsing it: one per list item and one per
 * document. A list of a million objects is longer than the longest string, and most of them are not needed.
 *
 * In YAML the boundaries are lines: the content of an item is indented more than its dash. In JSON they are brackets.
 */
import { apiserverErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

interface Piece {
  /** The index of the document in the file. */
  readonly document: number
  /** One item of a list; otherwise the document, without its items if it is a list. */
  readonly isItem: boolean
  readonly hasItems: boolean
  readonly text: string
}

/** Larger than any object that an API server accepts. */
const maxPieceLength = 32 * 1024 * 1024

/** Collects the parts of a piece. */
interface PieceBuffer {
  add(part: string): void
  /** Returns the collected text and resets. */
  take(): string
}

function pieceBuffer(separator: string): PieceBuffer {
  let parts: string[] = []
  let length = 0
  return {
    add(part) {
      length += part.length
      if (length > maxPieceLength) {
        throw new MusterError(
          apiserverErrors.GatherUnreadable,
          `an object in it is longer than ${maxPieceLength} characters.`,
        )
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
  const splitter = isJson ? jsonSplitter() : yamlSplitter()
  for await (const chunk of chunks) yield* splitter.cut(chunk)
  yield* splitter.end()
}

interface Splitter {
  cut(this: void, chunk: string): Generator<Piece>
  end(this: void): Generator<Piece>
}

function yamlSplitter(): Splitter {
  const item = pieceBuffer('\n')
  const rest = pieceBuffer('\n')
  let document = 0
  let hasItems = false
  let isEmpty = true
  /** `before`: after `items:`, before the first dash. `dash` and `inner` are the indentation of dashes and content. */
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
      // Not a list, or not in block style: it is parsed as a whole.
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
      if (unended.length > maxPieceLength) rest.add(unended)
      for (const text of lines) {
        // Fast path: most lines are the indented content of an item.
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

/** Whether the line is indented less than the item's content; empty lines and comments never are. */
function isOutside(text: string, indent: number): boolean {
  const at = text.search(/\S/)
  return at >= 0 && at < indent && text[at] !== '#'
}

function jsonSplitter(): Splitter {
  const item = pieceBuffer('')
  const rest = pieceBuffer('')
  const word = pieceBuffer('')
  let document = 0
  let depth = 0
  let hasItems = false
  let isInItems = false
  let isInString = false
  let isEscaped = false
  /** The last string on the first level, and the current key: a string that a colon followed. */
  let last = ''
  let key = ''

  return {
    *cut(chunk) {
      /** The start of the text that has not been added to a piece yet. */
      let from = 0
      const flush = (to: number): void => {
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
              flush(at + 1)
              ;[isInItems, hasItems] = [true, true]
            } else if (isInItems && depth === 2) flush(at)
            depth++
            break
          case '}':
          case ']':
            if (isInItems && depth === 3) {
              flush(at + 1)
              yield { document, isItem: true, hasItems, text: item.take() }
            }
            if (isInItems && depth === 2) {
              flush(at)
              isInItems = false
            }
            depth--
            if (depth === 0) {
              flush(at + 1)
              yield { document: document++, isItem: false, hasItems, text: rest.take() }
              ;[hasItems, key] = [false, '']
            }
            break
          default:
        }
      }
      flush(chunk.length)
    },
    *end() {
      const text = rest.take()
      if (text.trim() !== '') yield { document, isItem: false, hasItems, text }
    },
  }
}
