/** Names of signers: `example.com/signer`. A domain of at least two labels, then a name. */
import type { Cause } from '../refusal.ts'
import { dnsLabel, dnsSubdomain } from './name-format.ts'
import { invalid, required, tooLong } from './problem.ts'

const longestDomain = 253
const longestPath = 253 + 63 + 1

export function* checkSignerName(name: string, field: string): Iterable<Cause> {
  if (name === '') return yield required(field)
  const [domain = '', path = '', ...more] = name.split('/')
  if (!name.includes('/') || more.length > 0)
    return yield invalid(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
  if (domain.length > longestDomain) yield tooLong(field, longestDomain)
  const labels = domain.split('.')
  yield* firstWrong(field, domain, labels, dnsLabel)
  if (labels.length < 2) yield invalid(field, domain, 'should be a domain with at least two segments separated by dots')
  yield* firstWrong(field, path, path.split('.'), dnsSubdomain)
  const longest = longestDomain + longestPath + 1
  if (name.length > longest) yield tooLong(field, longest)
}

function* firstWrong(
  field: string,
  shown: string,
  labels: readonly string[],
  check: (label: string) => readonly string[],
): Iterable<Cause> {
  const wrong = labels.find((label) => check(label).length > 0)
  if (wrong === undefined) return
  for (const remark of check(wrong)) yield invalid(field, shown, `validating label ${JSON.stringify(wrong)}: ${remark}`)
}

/** Signers of Kubernetes itself issue for shorter times. */
export function isKubernetesSigner(name: string): boolean {
  const [domain = ''] = name.split('/')
  return domain === 'kubernetes.io' || domain.endsWith('.kubernetes.io')
}
