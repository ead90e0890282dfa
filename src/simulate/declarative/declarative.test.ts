import { createPrivateKey, randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memcached } from '../../../test/examples.ts'
import { createCertificateAuthority } from '../../pki/certificate-authority.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { Secret } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { junitReport } from './junit.ts'
import { runTest, type TestOptions, type TestResult } from './run-test.ts'
import { runSuite } from './suite.ts'
import { readTest } from './test-file.ts'

const examples = fileURLToPath(new URL('../../../examples/memcached/tests', import.meta.url))
const shell = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))
const options: TestOptions = { clock: systemClock, load: () => Promise.resolve(memcached) }

/** A copy of an example, with other files in it. */
function copyOf(example: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'muster-declarative-')), 'test')
  onTestFinished(() => rmSync(path.dirname(folder), { recursive: true, force: true }))
  if (example !== '') cpSync(path.join(examples, example), folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  return folder
}

function fileIn(folder: string, pattern: RegExp): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return path.join(
    folder,
    names.find((name) => pattern.test(name))!,
  )
}

const edit = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')))

/** A program, for one test. */
function programOf(script: string): string {
  const file = path.join(copyOf('', { program: `#!/bin/sh\n${script}\n` }), 'program')
  chmodSync(file, 0o755)
  return file
}

const Wish = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Wish', plural: 'wishes', spec: {} })
const wishCalled = (name: string): string =>
  `apiVersion: test.example.com/v1\nkind: Wish\nmetadata: {name: ${name}, namespace: shop, uid: ${name}, generation: 1}\nspec: {}\n`

/** An operator that keeps a Secret for each Wish, with whatever it thinks of. */
function secretKeeper(
  think: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>,
): Operator {
  const reconcile = async ({ cr }: { readonly cr: KubeObject }) => {
    const metadata = { name: cr.metadata.name!, namespace: 'shop' }
    return { objects: [{ apiVersion: 'v1', kind: 'Secret', metadata, stringData: await think() }] }
  }
  return defineOperator({ name: 'keeper', controllers: [defineController({ for: Wish, writes: [Secret], reconcile })] })
}

const head = 'operator: x\ntestName: t\ndescription: d\nnow: 2026-01-31T12:00:00Z\n'
const titles = ({ discrepancies }: TestResult): readonly string[] => discrepancies.map(({ title }) => title)

describe('a declarative test', () => {
  it('compares semantically: YAML in another format is equal', async () => {
    const folder = copyOf('creates')
    const file = fileIn(folder, /-body-sample\.yaml$/)
    edit(file, (text) => `# by hand\n${text.replace(/^kind: (\w+)$/m, 'kind: "$1"')}`)
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'passed', discrepancies: [] })
  })

  it('shows different, missing and unexpected writes', async () => {
    const folder = copyOf('creates')
    edit(fileIn(folder, /deployments\/\w+-body-/), (text) => text.replace('replicas: 3', 'replicas: 2'))
    rmSync(path.join(folder, 'expected-output/Configuration/Apply/namespaces/default/core/secrets'), {
      recursive: true,
    })
    const result = await runTest(folder, options)
    expect(result.outcome).toBe('failed')
    expect(titles(result)).toEqual([
      'different: Configuration Apply deployments.apps/v1 default/sample by memcached',
      'not expected: Configuration Apply secrets/v1 default/sample by memcached',
    ])
    expect(result.discrepancies[0]!.lines).toContain('-    replicas: 2')
    expect(result.discrepancies[0]!.lines).toContain('+    replicas: 3')
  })

  it('writes the actual output as the expected one on request, without ignored parts', async () => {
    const folder = copyOf('creates')
    rmSync(path.join(folder, 'expected-output'), { recursive: true })
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'failed' })
    expect(await runTest(folder, { ...options, update: true })).toMatchObject({ outcome: 'updated' })
    const names = (of: string): readonly string[] => readdirSync(of, { recursive: true, encoding: 'utf8' }).toSorted()
    const written = path.join(folder, 'expected-output')
    expect(names(written)).toEqual(names(path.join(examples, 'creates/expected-output')))
    expect(names(written).some((name) => name.includes('events'))).toBe(false)
    expect(await runTest(folder, { ...options, update: true })).toMatchObject({ outcome: 'passed' })
  })

  it('ignores and masks by rule', async () => {
    const rules =
      'ignore:\n- resource: secrets\n- {resource: deployments, fields: [spec.replicas]}\nmasks:\n- pattern: "memory.*"\n- fields: ["status.conditions[*].lastTransitionTime"]\n'
    const folder = copyOf('creates', { 'test.yaml': head + rules })
    edit(fileIn(folder, /deployments\/\w+-body-/), (text) => text.replace('replicas: 3', 'replicas: 9'))
    edit(fileIn(folder, /memcacheds\/\w+-body-/), (text) => text.replaceAll('2026-01-31', '1999-01-31'))
    rmSync(path.join(folder, 'expected-output/Configuration/Apply/namespaces/default/core/secrets'), {
      recursive: true,
    })
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'passed' })
    writeFileSync(path.join(folder, 'test.yaml'), head)
    expect((await runTest(folder, options)).discrepancies).toHaveLength(3)
  })

  it('continues step by step until at rest, and checks the objects then', async () => {
    expect(await runTest(copyOf('life'), options)).toMatchObject({ outcome: 'passed' })
    const folder = copyOf('life')
    edit(path.join(folder, 'test.yaml'), (text) =>
      text.replace('replicas: 4', 'replicas: 5').replace(/name: cache\}\n$/, 'name: other}\n'),
    )
    const result = await runTest(folder, options)
    expect(titles(result)).toEqual(['grown: different: Deployment default/cache'])
    expect(result.discrepancies[0]!.lines.join('\n')).toMatch(/-\s+replicas: 5\n\+\s+replicas: 4/)
  })

  it('may expect a failure', async () => {
    const wrong =
      'apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: x, namespace: default, uid: u}\nspec: {size: 1, image: ""}\n'
    const input = { 'input-dir/namespaces/default/cache.example.com/memcacheds/x.yaml': wrong }
    const folder = copyOf('', { 'test.yaml': `${head}desiredError: NonZeroReturn\n`, ...input })
    await runTest(folder, { ...options, update: true })
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'passed' })
    writeFileSync(path.join(folder, 'test.yaml'), head)
    expect(titles(await runTest(folder, options))).toEqual(['it failed'])
    const fine = copyOf('creates', { 'test.yaml': `${head}desiredError: NonZeroReturn\n` })
    expect(titles(await runTest(fine, options))).toEqual(['it succeeded, but desiredError says that it fails'])
  })

  it.each([
    ['testNmae: x\n', /no key "testNmae". Did you mean "testName"/],
    ['binaryName: x\n', /either binaryName or operator/],
    ['testType: Live\n', /testType is "Live"/],
    ['until: noon\n', /until is "noon"/],
    ['masks: [{fields: ["a b"]}]\n', /is no path to a field/],
    ['masks: [{pattern: "("}]\n', /is no pattern/],
    ['steps: [{name: ../x}]\n', /cannot be the name of a folder/],
    ['seed: lucky\n', /seed is "lucky"; it must be a whole number/],
  ])('is invalid, with the reason: %j', async (text, why) => {
    const folder = copyOf('creates', { 'test.yaml': head + text })
    expect(() => readTest(folder)).toThrow(why)
    const result = await runTest(folder, options)
    expect(result.outcome).toBe('broken')
  })
})

describe('a declarative test that never rests', () => {
  it('fails, and reports the number of runs', async () => {
    let runs = 0
    const load = (): Promise<Operator> => Promise.resolve(secretKeeper(() => ({ run: String(++runs) })))
    const text = `${head}until: quiet\nexpect: {requests: false}\n`
    const folder = copyOf('', { 'test.yaml': text, 'input-dir/a.yaml': wishCalled('a') })
    const result = await runTest(folder, { ...options, load })
    expect(result.outcome).toBe('failed')
    expect(titles(result)).toEqual(['it was still writing after 20 runs'])
    expect(runs).toBe(20)
  })
})

describe('randomness in a declarative test', () => {
  const run = async (text: string, think: Parameters<typeof secretKeeper>[0]): Promise<string> => {
    const folder = copyOf('', {
      'test.yaml': head + text,
      'input-dir/a.yaml': wishCalled('a'),
      'input-dir/b.yaml': wishCalled('b'),
    })
    const load = (): Promise<Operator> => Promise.resolve(secretKeeper(think))
    expect(await runTest(folder, { ...options, load, update: true })).toMatchObject({ outcome: 'updated' })
    const expected = path.join(folder, 'expected-output')
    const names = readdirSync(expected, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /secrets\/.*-body-/.test(name),
    )
    expect(names).toHaveLength(2)
    return names
      .toSorted()
      .map((name) => readFileSync(path.join(expected, name), 'utf8'))
      .join('')
  }

  it('derives from its seed', async () => {
    const think = (): Readonly<Record<string, string>> => ({
      password: randomUUID(),
      salt: randomBytes(8).toString('hex'),
    })
    const [one, again] = [await run('seed: 5\n', think), await run('seed: 5\n', think)]
    expect(again).toBe(one)
    expect(await run('seed: 6\n', think)).not.toBe(one)
    expect(await run('', think)).toBe(await run('seed: 1\n', think))
    // Each of them has one of its own.
    const [first, second] = one.match(/password: \S+/g) ?? []
    expect(first).not.toBe(second)
  })

  it('creates the same certificates, byte for byte, which are valid', async () => {
    const think = (): Readonly<Record<string, string>> => {
      const validity = { from: Date.UTC(2026, 0), until: Date.UTC(2027, 0) }
      const authority = createCertificateAuthority({ commonName: 'shop', ...validity })
      const { cert, key } = authority.issue({
        commonName: 'web',
        purpose: 'server',
        dnsNames: ['web.shop'],
        ...validity,
      })
      const [leaf, root] = [new X509Certificate(cert), new X509Certificate(authority.cert)]
      expect(root.verify(root.publicKey) && leaf.verify(root.publicKey) && leaf.checkIssued(root)).toBe(true)
      expect(leaf.checkPrivateKey(createPrivateKey(key))).toBe(true)
      return { 'ca.crt': authority.cert, 'tls.crt': cert, 'tls.key': key }
    }
    const [one, again] = [await run('seed: 5\n', think), await run('seed: 5\n', think)]
    const kept = [...one.matchAll(/\.crt: (\S+)/g)].map(([, text = '']) => Buffer.from(text, 'base64').toString())
    expect(kept.filter((text) => text.startsWith('-----BEGIN CERTIFICATE-----'))).toHaveLength(4)
    expect(again).toBe(one)
    expect(await run('seed: 6\n', think)).not.toBe(one)
  })
})

describe('a declarative test of a program', () => {
  const wish =
    'apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata:\n    labels: {answer: wanted}\n    name: wish\n    namespace: shop\n    uid: w\n  data:\n    size: "3"\nmetadata: {resourceVersion: "1"}\n'
  const input = { 'input-dir/namespaces/shop/core/configmaps.yaml': wish }
  const program = `binaryName: ${shell}\ntestName: t\ndescription: d\ntestType: ApplyConfiguration\n`

  it('needs only the upstream format', async () => {
    const folder = copyOf('', { 'test.yaml': program, ...input, 'expected-output/controller-results.yaml': '' })
    expect(titles(await runTest(folder, options))).toEqual([
      'different: controller-results.yaml',
      'not expected: Configuration Apply configmaps/v1 shop/answer by shell-Answer as shell',
    ])
    await runTest(folder, { ...options, update: true })
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'passed' })
  })

  it('can have steps, too: its mutations are executed in between', async () => {
    const steps = `${program}env: {WHO: us}\nsteps:\n- name: first\n  expect:\n    requests: false\n    objects:\n    - {apiVersion: v1, kind: ConfigMap, metadata: {name: answer, namespace: shop}, data: {amount: "3", for: us}}\n- name: second\n  apply: more.yaml\n  expect:\n    requests: false\n    objects:\n    - {apiVersion: v1, kind: ConfigMap, metadata: {name: answer, namespace: shop}, data: {amount: "5"}}\n`
    const single =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wish, namespace: shop, labels: {answer: wanted}}\ndata: {size: "5"}\n'
    const folder = copyOf('', { 'test.yaml': steps, ...input, 'more.yaml': single })
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'passed', discrepancies: [] })
  })

  it('is at rest when its output changes nothing any more', async () => {
    const text = `${program}env: {WHO: us}\nuntil: quiet\nexpect:\n  requests: false\n`
    const folder = copyOf('', { 'test.yaml': text, ...input })
    expect(await runTest(folder, options)).toMatchObject({ outcome: 'passed', discrepancies: [] })
  })

  it('fails when it never stops writing, and reports the number of runs', async () => {
    // Another number in each run: that of its process.
    const restless = programOf(`case $1 in apply-configuration) ;; *) exec "${shell}" "$@" ;; esac
place=$5/Configuration/Apply/namespaces/shop/core/configmaps
mkdir -p "$place"
echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: answer, namespace: shop}, data: {amount: \\"$$\\"}}" >"$place/1-body-answer.yaml"
echo '{action: Apply, name: answer, namespace: shop, controllerInstanceName: a, resourceType: {Group: "", Version: v1, Resource: configmaps}}' >"$place/1-metadata-answer.yaml"
echo 'controllerResults: [{controllerName: a, status: Succeeded}]' >"$5/controller-results.yaml"`)
    const text = `binaryName: ${restless}\ntestName: t\ndescription: d\nuntil: quiet\nexpect:\n  requests: false\n`
    const folder = copyOf('', { 'test.yaml': text, ...input })
    expect(titles(await runTest(folder, options))).toEqual(['it was still writing after 20 runs'])
  })

  it('passes time, controllers and seed to the program', async () => {
    const seen = path.join(copyOf('', { 'nothing.yaml': '' }), 'seen')
    const told = programOf(`[ "$1" = apply-configuration ] && echo "$MUSTER_SEED $*" >>"${seen}"\nexec "${shell}" "$@"`)
    const words = async (text: string): Promise<readonly string[]> => {
      const about = `binaryName: ${told}\ntestName: t\ndescription: d\n${text}`
      const folder = copyOf('', { 'test.yaml': about, ...input, 'expected-output/controller-results.yaml': '' })
      rmSync(seen, { force: true })
      await runTest(folder, options)
      const lines = readFileSync(seen, 'utf8').trimEnd().split('\n')
      return lines.map((line) => line.replaceAll(/--(?:input|output)-dir \S+ ?/g, '').trimEnd())
    }
    expect(await words('')).toEqual(['1 apply-configuration'])
    expect(await words('seed: 9\nnow: 2026-01-31T12:00:00Z\ncontrollers: [first, -second]\n')).toEqual([
      '9 apply-configuration --now 2026-01-31T12:00:00Z --controllers first,-second',
    ])
    const steps =
      'now: 2026-01-31T12:00:00Z\ncontrollers: [first]\nsteps:\n- {name: one}\n- {name: two, advance: 5m, controllers: [second]}\n'
    expect(await words(steps)).toEqual([
      '1 apply-configuration --now 2026-01-31T12:00:00Z --controllers first',
      '1 apply-configuration --now 2026-01-31T12:05:00Z --controllers second',
    ])
  })

  it('fails when the program hangs, and kills it', async () => {
    const text = `${program}timeout: 300ms\nenv: {HOSTILE: hang}\n`
    const folder = copyOf('', { 'test.yaml': text, ...input, 'expected-output/controller-results.yaml': '' })
    const result = await runTest(folder, options)
    expect(titles(result)).toContain('it did not end within 300 ms')
  })
})

describe('a suite', () => {
  it('runs at most the given number of tests concurrently', async () => {
    const folder = path.dirname(copyOf(''))
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      mkdirSync(path.join(folder, name, 'input-dir'), { recursive: true })
      writeFileSync(path.join(folder, name, 'test.yaml'), `${head}expect: {requests: false}\n`)
      writeFileSync(path.join(folder, name, 'input-dir/a.yaml'), wishCalled('a'))
    }
    // Each waits for two others: one after the other they would wait for ever.
    let met = Promise.withResolvers<void>()
    let [inside, most] = [0, 0]
    const think = async (): Promise<Readonly<Record<string, string>>> => {
      most = Math.max(most, ++inside)
      const meeting = met
      if (inside === 3) {
        met = Promise.withResolvers()
        meeting.resolve()
      }
      await meeting.promise
      inside--
      return {}
    }
    const load = (): Promise<Operator> => Promise.resolve(secretKeeper(think))
    const results = await runSuite(folder, { ...options, load, jobs: 3 })
    expect(results.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 6 }, () => 'passed'))
    expect(most).toBe(3)
  })

  it('finds all tests below a folder, keeps the output, and reports correct counts', async () => {
    const folder = path.dirname(copyOf('creates'))
    cpSync(path.join(folder, 'test'), path.join(folder, 'nested/other'), { recursive: true })
    edit(path.join(folder, 'nested/other/test.yaml'), (text) => `${text}\nnonsense: 1\n`)
    cpSync(path.join(folder, 'test'), path.join(folder, 'third'), { recursive: true })
    edit(fileIn(path.join(folder, 'third'), /deployments\/\w+-body-/), (text) =>
      text.replace('replicas: 3', 'replicas: <&>'),
    )
    const outputFolder = path.join(folder, 'out')
    const results = await runSuite(folder, { ...options, outputFolder })
    expect(results.map(({ outcome }) => outcome)).toEqual(['broken', 'passed', 'failed'])
    expect(existsSync(path.join(outputFolder, 'test/controller-results.yaml'))).toBe(true)
    const xml = junitReport(results)
    expect(xml).toContain('tests="3" failures="1" errors="1" skipped="0"')
    expect(xml).toContain('replicas: &lt;&amp;&gt;')
    expect(xml.match(/<testcase /g)).toHaveLength(3)
    await expect(runSuite(path.join(folder, 'out'), options)).rejects.toThrow(/no test.yaml/)
  })
})
