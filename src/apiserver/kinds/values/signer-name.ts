/** Validation of signer names: `example.com/signer`, a domain of at least two labels and a path. */
import type { Cause } from '../../errors/status-error.ts'
import { dnsLabel, dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import { invalidField, requiredField, tooLong } from '../../../kube/validation/field-error.ts'

const longestDomain = 253
const longestPath = 253 + 63 + 1

export function* checkSignerName(name: string, field: string): Iterable<Cause> {
  const [domain = '', path, ...more] = name.split('/')
  if (name === '') yield requiredField(field)
  else if (path === undefined || more.length > 0)
    yield invalidField(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
  else yield* checkParts(domain, path, field)
}

function* checkParts(domain: string, path: string, field: string): Iterable<Cause> {
  if (domain.length > longestDomain) yield tooLong(field, longestDomain)
  const labels = domain.split('.')
  yield* firstWrong(field, domain, labels, dnsLabel)
  if (labels.length < 2)
    yield invalidField(field, domain, 'should be a domain with at least two segments separated by dots')
  yield* firstWrong(field, path, path.split('.'), dnsSubdomain)
  const longest = longestDomain + 1 + longestPath
  if (domain.length + 1 + path.length > longest) yield tooLong(field, longest)
}

function* firstWrong(
  field: string,
  shown: string,
  labels: readonly string[],
  check: (label: string) => readonly string[],
): Iterable<Cause> {
  const wrong = labels.find((label) => check(label).length > 0)
  if (wrong === undefined) return
  for (const remark of check(wrong))
    yield invalidField(field, shown, `validating label ${JSON.stringify(wrong)}: ${remark}`)
}

/** Kubernetes' own signers allow shorter expirations. */
export function isKubernetesSigner(name: string): boolean {
  const [domain = ''] = name.split('/')
  return domain === 'kubernetes.io' || domain.endsWith('.kubernetes.io')
}
