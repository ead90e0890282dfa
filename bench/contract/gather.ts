/**
 * A gather far larger than the memory of its reader: lists of a gigabyte in YAML and of 300 MB in JSON, thousands of
 * small files, and two declared objects in all of that. `muster inputs from-must-gather` must find these two. The
 * figure is its memory in relation to the size of the directory: a reader that loads a whole list would take several
 * times its length.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Figure, figure } from '../figure.ts'

const declared = `applyConfigurationResources:
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: wanted}
  - {group: "", version: v1, resource: configmaps, namespace: mart, name: wanted}
`
/** Size of the directory. */
const wholeBytes = 2 ** 31

export async function measureGather(quick: boolean, log: (line: string) => void): Promise<readonly Figure[]> {
  const bytes = quick ? wholeBytes / 32 : wholeBytes
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-gather-'))
  try {
    const gather = path.join(folder, 'gather')
    writeList(path.join(gather, 'namespaces/shop/core/configmaps.yaml'), bytes / 2, yamlList)
    writeList(path.join(gather, 'mart/configmaps.json'), bytes * 0.15, jsonList)
    writeSmall(path.join(gather, 'cluster-scoped-resources/core/nodes'), bytes * 0.35)
    writeFileSync(path.join(folder, 'declared.yaml'), declared)
    const { maxRss, seconds, found } = await cut(folder)
    if (found !== 2) throw new Error(`${found} objects were found, and two are there`)
    const MB = (size: number): number => Math.round(size / 1e6)
    log(`a gather of ${MB(bytes)} MB: ${MB(maxRss)} MB of memory, ${seconds.toFixed(1)} s`)
    // A small directory shows nothing: the process itself takes that much.
    if (quick) return []
    return [
      figure('contract', 'memory for a gather, MB', MB(maxRss), MB(bytes), 'its size', { relation: '<=', limit: 0.25 }),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface ListForm {
  readonly head: string
  readonly tail: string
  readonly item: (name: string, isLast: boolean) => string
}

const words = 'memory is not what a directory has to fit into '.repeat(12)

const yamlList: ListForm = {
  head: 'apiVersion: v1\nkind: ConfigMapList\nitems:\n',
  tail: '',
  item: (name) => `- metadata:\n    name: ${name}\n    namespace: shop\n  data:\n    words: ${words}\n`,
}

const jsonList: ListForm = {
  head: '{\n"kind": "ConfigMapList",\n"apiVersion": "v1",\n"items": [\n',
  tail: ']\n}\n',
  item: (name, isLast) =>
    `${JSON.stringify({ metadata: { name, namespace: 'mart' }, data: { words } })}${isLast ? '' : ','}\n`,
}

/** The declared object is the last one. */
function writeList(file: string, bytes: number, { head, tail, item }: ListForm): void {
  mkdirSync(path.dirname(file), { recursive: true })
  const descriptor = openSync(file, 'w')
  let written = writeSync(descriptor, head)
  for (let at = 0; written < bytes;) {
    const some = Array.from({ length: 1000 }, () => item(`one-${at++}`, false)).join('')
    written += writeSync(descriptor, some)
  }
  writeSync(descriptor, item('wanted', true) + tail)
  closeSync(descriptor)
}

function writeSmall(folder: string, bytes: number): void {
  mkdirSync(folder, { recursive: true })
  const node = (name: string): string =>
    `apiVersion: v1\nkind: Node\nmetadata:\n  name: ${name}\nspec:\n  words: ${words}\nstatus:\n  notes:\n${`  - ${words}\n`.repeat(24)}`
  for (let at = 0, written = 0; written < bytes; at++) {
    const text = node(`node-${at}`)
    writeFileSync(path.join(folder, `node-${at}.yaml`), text)
    written += text.length
  }
}

/** In a separate process with the heap of a small machine; it reports its own memory at its end. */
async function cut(
  folder: string,
): Promise<{ readonly maxRss: number; readonly seconds: number; readonly found: number }> {
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
  const output = path.join(folder, 'output')
  const places = ['--input-resources', path.join(folder, 'declared.yaml'), '--output-dir', output]
  const told = `process.on('exit', () => process.stderr.write('maxRSS ' + process.resourceUsage().maxRSS + '\\n'))`
  const flags = ['--max-old-space-size=128', '--conditions=muster-source', '--import', `data:text/javascript,${told}`]
  const begun = performance.now()
  const child = spawn(
    process.execPath,
    [...flags, main, 'inputs', 'from-must-gather', path.join(folder, 'gather'), ...places],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const [printed, [code]] = (await Promise.all([readText(child.stderr), once(child, 'close')])) as [string, [number]]
  if (code !== 0) throw new Error(`muster inputs ended with ${code}: ${printed}`)
  const maxRss = Number(/maxRSS (\d+)/.exec(printed)?.[1]) * 1024
  const seconds = (performance.now() - begun) / 1000
  const files = readdirSync(output, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'))
  const texts = files.map((name) => readFileSync(path.join(output, name), 'utf8'))
  return { maxRss, seconds, found: texts.join('\n').match(/name: wanted$/gm)?.length ?? 0 }
}
