import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ignoredByImages, imageNode, imageUser, managerContainerfile, projectContainerfile } from './image.ts'

interface Instruction {
  readonly name: string
  readonly words: string
}

/** Comments and continued lines as builders read them. */
function instructionsOf(text: string): readonly Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  return lines.map((line) => {
    const [name = '', ...words] = line.split(' ')
    return { name, words: words.join(' ') }
  })
}

interface Stage {
  readonly from: string
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

function stagesOf(instructions: readonly Instruction[]): readonly Stage[] {
  const starts = instructions.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []))
  return starts.map((start, turn) => {
    const [from = '', , name] = instructions[start]!.words.split(' ')
    return { from, name, instructions: instructions.slice(start + 1, starts[turn + 1]) }
  })
}

describe.each([
  ['the manager', managerContainerfile()],
  ['a project', projectContainerfile('shop')],
])('the Containerfile of %s', (_what, text) => {
  const instructions = instructionsOf(text)
  const stages = stagesOf(instructions)
  const last = stages.at(-1)!

  it('has known instructions, and one pinned base', () => {
    const known = new Set(['ARG', 'FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'ENTRYPOINT', 'CMD'])
    expect(instructions.filter(({ name }) => !known.has(name))).toEqual([])
    const [argument] = instructions
    expect(argument).toEqual({ name: 'ARG', words: `NODE_IMAGE=node:${imageNode}-bookworm-slim` })
    expect(stages.slice(0, -1).map(({ from }) => from)).toEqual(stages.slice(0, -1).map(() => '${NODE_IMAGE}'))
  })

  it('copies from earlier stages alone, and fails with the first command that does', () => {
    const names = stages.map(({ name }) => name)
    for (const [turn, stage] of stages.entries()) {
      const sources = stage.instructions.flatMap(({ words }) => /--from=(\S+)/.exec(words)?.[1] ?? [])
      expect(sources.filter((source) => !names.slice(0, turn).includes(source))).toEqual([])
      for (const { words } of stage.instructions.filter(({ name }) => name === 'RUN')) expect(words).not.toContain(';')
    }
  })

  it('ends in an empty root with the files of the image, without root and without a shell', () => {
    expect(last.from).toBe('scratch')
    expect(last.instructions.map(({ name }) => name)).toEqual(['COPY', 'WORKDIR', 'ENV', 'USER', 'ENTRYPOINT', 'CMD'])
    const of = (name: string): string => last.instructions.find((one) => one.name === name)!.words
    expect(of('USER')).toBe(`${imageUser}:${imageUser}`)
    // The form that needs no shell.
    expect(JSON.parse(of('ENTRYPOINT'))).toEqual([
      '/usr/local/bin/node',
      '--max-semi-space-size=4',
      'node_modules/@muster-dev/muster/bin/muster',
    ])
    expect(JSON.parse(of('CMD'))).toEqual(['run'])
  })

  it('takes packages by a lockfile or from a package, and none for development', () => {
    const npm = instructions.filter(({ words }) => /\bnpm (?:ci|install)\b/.test(words))
    expect(npm).toHaveLength(1)
    expect(npm[0]!.words).toContain('--omit=dev')
    expect(ignoredByImages).toContain('node_modules')
  })
})

it('the image has the Node that a checkout is tested with', () => {
  const { optionalDependencies } = JSON.parse(
    readFileSync(new URL('../../runtime/package.json', import.meta.url), 'utf8'),
  ) as { readonly optionalDependencies: Readonly<Record<string, string>> }
  expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([imageNode]))
})
