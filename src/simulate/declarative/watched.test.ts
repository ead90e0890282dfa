import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { isWatched } from './watched.ts'

describe('a file change', () => {
  const written = ['out', path.resolve('reports/junit.xml')]

  it.each(['tests/a/test.yaml', 'src/operator.ts', 'outside/a', 'out.yaml', 'reports/junit.xml.orig'])(
    'triggers another round: %s',
    (file) => {
      expect(isWatched(path.resolve(file), written)).toBe(true)
    },
  )

  it.each(['out', 'out/a/stdout.log', 'reports/junit.xml', 'node_modules/a/index.js', '.git/HEAD', 'dist/a.js'])(
    'does not, where a round or a tool wrote it: %s',
    (file) => {
      expect(isWatched(path.resolve(file), written)).toBe(false)
    },
  )
})
