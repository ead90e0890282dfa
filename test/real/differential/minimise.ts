/** The shortest sequence that still shows a difference of the same sort: what a person wants to look at. */
import { type Json } from '../../../src/kube/json.ts'
import { comparable, differences } from './compare.ts'
import { type Bench, type Difference, runSequence } from './runner.ts'
import type { Sequence, Step } from './step.ts'

/** Runs the sequence again without a half of it, a quarter, …, a step, and keeps out what is not needed. */
export async function minimise(bench: Bench, found: Difference, namespace: () => string): Promise<Difference> {
  let best = found
  const attempt = async (steps: readonly Step[]): Promise<boolean> => {
    if (!steps.every(({ until }, index) => until === undefined || ends(steps.slice(0, index), until))) return false
    const again = await runSequence(bench, inNamespace({ ...best.sequence, steps }, namespace()))
    const isSame = again !== undefined && signatureOf(again) === signatureOf(best)
    if (isSame) best = again
    return isSame
  }
  const upTo = ({ sequence, index }: Difference): readonly Step[] => sequence.steps.slice(0, index + 1)
  const collection = (path: string): string =>
    path
      .split('/')
      .slice(0, path.includes('/namespaces/') ? 7 : 5)
      .join('/')
  // Other kinds seldom matter.
  const last = upTo(best).at(-1)!
  await attempt(upTo(best).filter(({ path }) => collection(path) === collection(last.path)))
  for (let size = Math.ceil(best.index / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < best.index;) {
      const steps = upTo(best)
      const count = Math.min(size, best.index - start)
      if (!(await attempt(steps.toSpliced(start, count)))) start += size
    }
  }
  return best
}

/** Whether an earlier step creates the object that a watch waits for. */
function ends(before: readonly Step[], name: string): boolean {
  return before.some(({ method, body }) => method === 'POST' && JSON.stringify(body).includes(`"name":"${name}"`))
}

/** The same sequence in an unused namespace. */
export function inNamespace({ seed, namespace: old, steps }: Sequence, namespace: string): Sequence {
  const text = JSON.stringify(steps).replaceAll(old, namespace)
  return { seed, namespace, steps: JSON.parse(text) as readonly Step[] }
}

/** Differences of one sort look the same, whatever the names and values. */
export function signatureOf({ sequence, index, embedded, real }: Difference): string {
  const { method, path, type = '' } = sequence.steps[index]!
  const resource = path.split('/').slice(path.startsWith('/api/') ? 3 : 4)
  const plural = resource[0] === 'namespaces' && resource.length > 2 ? resource[2] : resource[0]
  const places = differences(comparable(embedded), comparable(real), 3).map((one) => one.split('\n', 1)[0])
  return [method, type, plural, embedded.status, real.status, ...places].join(' ')
}

export function describeDifference({ sequence, index, embedded, real }: Difference): string {
  const steps = sequence.steps.slice(0, index + 1).map((step, at) => `  ${at}. ${describeStep(step)}`)
  const where = differences(comparable(embedded), comparable(real)).map((one) => `  ${one}`)
  return [`seed ${sequence.seed}, step ${index}:`, ...steps, ...where].join('\n')
}

function describeStep({ method, path, query, type, accept, body, onto, until }: Step): string {
  const question =
    query && Object.keys(query).length > 0 ? `?${decodeURIComponent(new URLSearchParams(query).toString())}` : ''
  const parts = [
    method,
    path + question,
    type,
    accept,
    onto && '(onto what is there)',
    until && `(until ${until})`,
    bodyText(body),
  ]
  return parts.filter(Boolean).join(' ')
}

function bodyText(body: Json | undefined): string {
  if (body === undefined) return ''
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return text.length > 3000 ? `${text.slice(0, 3000)}…` : text
}
