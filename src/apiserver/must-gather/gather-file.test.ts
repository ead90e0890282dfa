import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Json } from '../../kube/json.ts'
import { readYamlDocuments, writeYaml } from '../../kube/yaml/yaml.ts'
import { objectsInFile, type Wants } from './gather-file.ts'
import { piecesOf } from './gather-pieces.ts'

function fileOf(text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-gather-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'a.yaml'), text)
  return path.join(folder, 'a.yaml')
}

/** Reads in pieces, however small the file is. */
async function inPieces(text: string, wants?: Wants): Promise<readonly string[]> {
  const found = await Array.fromAsync(objectsInFile(fileOf(text), wants, 0))
  return found.map(({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.name}`)
}

async function* cutAt(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield await Promise.resolve(text.slice(at, at + size))
}

const list = `---
apiVersion: v1
items:
- apiVersion: v1
  data:
    text: |
      kind: Secret
        - not an item

    more: x
  kind: ConfigMap
  metadata:
    name: a
# a remark
- metadata: {name: b}
-
  metadata:
    name: c
kind: ConfigMapList
metadata:
  resourceVersion: "1"
`

describe('a large file', () => {
  it('is split at its items, even if the kind follows them', async () => {
    expect(await inPieces(list)).toEqual(['v1 ConfigMap a', 'v1 ConfigMap b', 'v1 ConfigMap c'])
  })

  it('may indent its items, hold several documents, and have CRLF line ends', async () => {
    const indented = list.replaceAll(/^(?=[- ])/gm, '  ')
    const single = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n'
    const expected = ['v1 ConfigMap a', 'v1 ConfigMap b', 'v1 ConfigMap c', 'v1 Pod p', 'v1 Pod q']
    const text = `${indented}---\n${single}--- {apiVersion: v1, kind: Pod, metadata: {name: q}}\n...\n`
    expect(await inPieces(text)).toEqual(expected)
    expect(await inPieces(text.replaceAll('\n', '\r\n'))).toEqual(expected)
  })

  it('may be JSON, with its kind before or after the items, or several values', async () => {
    const items = [{ metadata: { name: 'a "[{' } }, { metadata: { name: 'b', items: [{}] } }]
    const before = JSON.stringify({ kind: 'PodList', apiVersion: 'v1', items, metadata: {} }, null, 4)
    const behind = JSON.stringify({ apiVersion: 'v1', items, kind: 'PodList' })
    const single = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { items: [1] } })
    const pods = ['v1 Pod a "[{', 'v1 Pod b']
    expect(await inPieces(before)).toEqual(pods)
    expect(await inPieces(`${behind}\n${single}\n${before}`)).toEqual([...pods, 'v1 Node n', ...pods])
  })

  it('may hold no items, items on one line, or something else', async () => {
    expect(await inPieces('apiVersion: v1\nkind: PodList\nitems: []\n')).toEqual([])
    expect(await inPieces('apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]\n')).toEqual(['v1 Pod a'])
    expect(await inPieces('apiVersion: v1\nkind: PodList\nitems:\n  [{metadata: {name: a}}]\n')).toEqual(['v1 Pod a'])
    expect(await inPieces('items:\nkind: PodList\napiVersion: v1\n')).toEqual([])
    expect(await inPieces('{"a":1}')).toEqual([])
    expect(await inPieces('')).toEqual([])
  })

  it('is not parsed if the filter excludes its objects', async () => {
    const read: string[] = []
    const wants: Wants = (kind, text) => {
      read.push(kind)
      return kind === 'ConfigMap' && text.includes('name: b')
    }
    expect(await inPieces(list, wants)).toEqual(['v1 ConfigMap b'])
    expect(new Set(read)).toEqual(new Set(['ConfigMap', 'ConfigMapList']))
    // Broken, but excluded by the filter.
    expect(await inPieces('kind: Pod\nmetadata: {name: [\n', wants)).toEqual([])
    await expect(inPieces('kind: Pod\nmetadata: {name: [\n')).rejects.toThrow('unexpected end')
  })

  it('has the same objects in pieces as at once, wherever chunks end', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom('- a', 'items:', '---', 'a\n- b\n', 'x\n\n  y', '{[', '"]}', '\\'),
    )
    const item = fc.record({
      metadata: fc.record({ name: fc.constantFrom('a', 'b') }),
      data: fc.dictionary(fc.constantFrom('a', 'items', 'kind'), text),
      list: fc.array(fc.oneof(text, fc.array(text, { maxLength: 2 })), { maxLength: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        fc.boolean(),
        async (items, size, isJson) => {
          const document = { apiVersion: 'v1', items, kind: 'ConfigMapList' } as unknown as Json
          const whole = isJson ? JSON.stringify(document) : writeYaml(document)
          const pieces = await Array.fromAsync(piecesOf(cutAt(whole, size), isJson))
          const read = pieces.filter(({ isItem }) => isItem).flatMap((piece) => readYamlDocuments(piece.text))
          expect(isJson ? read : read.flat()).toEqual((readYamlDocuments(whole)[0] as { items: Json[] }).items)
          const rest = pieces.filter(({ isItem }) => !isItem).map((piece) => readYamlDocuments(piece.text)[0])
          expect(rest).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMapList' }])
        },
      ),
    )
  })
})
