/** What a new project has for CI systems of this field: two scripts and two targets, run as they are. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { emptyFolder, type Ended, install, muster } from '../../../test/project.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

function run(folder: string, program: string, ...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, words, { cwd: folder }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })
}

it('a new project runs its declarative tests by npm and by make, and updates the expected output', async () => {
  const folder = await emptyFolder()
  expect(await muster(folder, 'init', 'shop')).toMatchObject({ code: 0 })
  const project = path.join(folder, 'shop')
  await install(project)
  // What npm makes of the package's "bin".
  const bin = path.join(project, 'node_modules/.bin/muster')
  await mkdir(path.dirname(bin))
  await writeFile(bin, `#!/bin/sh\nexec '${process.execPath}' --conditions=muster-source '${main}' "$@"\n`)
  await chmod(bin, 0o755)

  const byNpm = await run(project, 'npm', 'run', '--silent', 'test-operator-integration')
  expect(byNpm).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('1 passed, 0 failed') as string })

  // From here on requests count, as the test file itself says how.
  const file = path.join(project, 'tests/creates/test.yaml')
  await writeFile(file, (await readFile(file, 'utf8')).replace('requests: false', 'requests: true'))
  // Named, because npx takes longer than the tests.
  const make = (target: string): Promise<Ended> => run(project, 'make', target, `MUSTER=${bin}`)
  const updated = await make('update-test-operator-integration')
  expect(updated).toMatchObject({ code: 0, stdout: expect.stringContaining('(1 updated)') as string })
  expect(await readdir(path.join(project, 'tests/creates/expected-output'))).toContain('controller-results.yaml')
  expect(await make('test-operator-integration')).toMatchObject({ code: 0 })
  expect(await readFile(path.join(project, 'test-output/junit.xml'), 'utf8')).toContain('tests="1" failures="0"')
})
