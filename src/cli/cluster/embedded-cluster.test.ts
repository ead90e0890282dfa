import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const source = fileURLToPath(new URL('../..', import.meta.url))

/** Every file that is loaded with this one: imports of types, and those that come later, do not count. */
function loadedWith(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found
  found.add(file)
  const text = readFileSync(path.join(source, file), 'utf8')
  for (const [, names = '', from = ''] of text.matchAll(/^(?:import|export) (?!type )([^;'"]*?)from '(\.[^']+)'$/gms)) {
    const isTypes = names
      .replaceAll(/[{}]/g, '')
      .split(',')
      .every((name) => /^\s*(?:type .*)?$/s.test(name))
    if (!isTypes) loadedWith(path.join(path.dirname(file), from), found)
  }
  return found
}

describe('the start of an embedded cluster', () => {
  it('loads kinds and rules with the first request: start-up time and memory at rest depend on it', () => {
    const loaded = [...loadedWith('cli/cluster/embedded-cluster.ts')]
    expect(loaded).toContain('apiserver/http/listener.ts')
    expect(loaded).toContain('apiserver/storage/journal/recovery.ts')
    expect(loaded).not.toContain('apiserver/server/server.ts')
    expect(loaded.length).toBeLessThan(35)
  })

  it('loads the write path with the first write: the time of the first response depends on it', () => {
    const loaded = [...loadedWith('apiserver/server/lazy-server.ts')]
    expect(loaded).toContain('apiserver/server/dispatch.ts')
    for (const file of [
      'apiserver/write/writing.ts',
      'apiserver/write/kinds.ts',
      'kube/apply/apply.ts',
      'kube/cel/value/value.ts',
    ])
      expect(loaded).not.toContain(file)
    expect(loaded.length).toBeLessThan(80)
  })

  it('sees the imports of a file, not what it only mentions', () => {
    const loaded = loadedWith('apiserver/server/api-server.ts')
    expect(loaded).toContain('apiserver/server/dispatch.ts')
    expect(loaded).not.toContain('apiserver/must-gather/must-gather.ts')
  })
})
