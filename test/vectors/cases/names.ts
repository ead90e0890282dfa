/** Names, keys and values that the API server checks the form of: each text is tried in each place. */

export interface NameVector {
  readonly name: string
  readonly text: string
  /** The places that take it. */
  readonly accepted: readonly NamePlace[]
}

/** Each place stands for one rule of form. */
export const namePlaces = [
  /** metadata.name of a ConfigMap: a DNS-1123 subdomain. */
  'subdomain',
  /** metadata.name of a Namespace: a DNS-1123 label. */
  'label1123',
  /** metadata.name of a Service. */
  'service',
  /** metadata.name of a ClusterRole: one segment of a path. */
  'pathSegment',
  /** metadata.generateName of a ConfigMap. */
  'generateName',
  /** Name of a container port: an IANA service name. */
  'portName',
  'labelKey',
  'labelValue',
  'annotationKey',
  'finalizer',
  /** Key of ConfigMap data. */
  'configMapKey',
  'envVar',
  /** Group of a CRD. */
  'apiGroup',
] as const

export type NamePlace = (typeof namePlaces)[number]

export const nameTexts: readonly string[] = [
  'a', 'A', '0', '9', 'abc', 'Abc', 'aBc', 'abc1', '1abc', '123', 'a-b', 'a--b', '-a', 'a-', '-', '--', 'a-1', '1-a',
  '1-1', 'a.b', 'a..b', '.a', 'a.', '.', '..', '...', 'a.-b', 'a-.b', 'a.b.c', 'a.B', '1.2.3', 'a.1', '..a', 'a_b',
  '_a', 'a_', '_', '__', 'a.b_c', 'a/b', '/', '/a', 'a/', 'a/b/c', 'a.com/b', 'a.com/', 'A.com/b', 'a.com/B',
  'a.com/-b', 'a.com/b-', 'a.com/b_c.d', 'a.com/b/c', '-a.com/b', 'a_b.com/c', 'a.com./b', '.com/b', 'a.com//b',
  'kubernetes.io/x', 'k8s.io/x', 'example.com/finalizer', 'foregroundDeletion', 'orphan', 'kubernetes', '', ' ', 'a b',
  ' a', 'a ', 'a\tb', 'a\nb', 'a%b', 'a%2fb', 'a:b', 'a=b', 'a,b', 'a!', 'a@b', 'a+b', 'a*b', 'a~b', 'é', 'aé', '日本',
  'a\u0000b', 'http', 'http2', 'http-alt', 'HTTP', 'port-123456789-x', 'port-12345678-x', '8080', '8080-',
  'a-b-c-d-e-f-g', '80a', 'a--80', 'system:node', 'PATH', 'PATH_1', '1PATH', 'a$b', 'a.b-c_D', '=x', 'a#b', 'key.json',
  '-key', '..data', '..2024', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(53), 'x'.repeat(58), 'x'.repeat(59),
  'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(253), 'x'.repeat(254), `${'x'.repeat(63)}.y`, `${'x'.repeat(64)}.y`,
  `${'x.'.repeat(126)}y`, `${'x.'.repeat(127)}y`, `${'x.'.repeat(126)}y/k`, `${'x.'.repeat(127)}y/k`,
  `a.com/${'k'.repeat(63)}`, `a.com/${'k'.repeat(64)}`, `${'x'.repeat(64)}.com/k`, 'xn--mgbx', 'a.b.c/d', '0.0.0.0',
  '10-0-0-1', 'true', 'null', 'default', 'kube-system',
]
