/** Label and field selectors as text, and the objects they choose from. */
import type { JsonObject } from '../../../src/kube/json.ts'
import type { UntypedObject } from '../../../src/kube/object.ts'

/** `matches` names the chosen objects; absent when the server refuses the selector. */
export interface SelectorVector {
  readonly name: string
  readonly selector: string
  readonly matches?: readonly string[]
  /** The selector is well formed, but names a field that this kind cannot be selected by. */
  readonly unknownField?: true
}

/** Labels by object name. */
export const labelledObjects: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  none: {},
  web: { app: 'web', tier: 'front' },
  'web-canary': { app: 'web', tier: 'front', canary: '' },
  db: { app: 'db', tier: 'back', weight: '10' },
  cache: { app: 'cache', tier: 'back', weight: '9' },
  job: { 'example.com/job': 'nightly', weight: '3' },
  odd: { in: 'in', notin: 'notin', exists: 'x', weight: 'heavy' },
  version: { 'app.kubernetes.io/version': '1.2.3', app: 'Web' },
  huge: { weight: '9223372036854775807' },
}

export const labelSelectors: readonly string[] = [
  // Equality, in its three spellings.
  '', ' ', 'app=web', 'app==web', 'app = web', ' app=web ', 'app=web,tier=front', 'app=web , tier = front',
  'app=web,,tier=front', 'app!=web', 'app != web', 'tier!=front,app', 'app=', 'app==', 'app!=', 'canary=', 'canary!=',
  'app=web,', ',app=web', ',', 'app===web', 'app=!web', '=web', '==web', '!=web', 'app', '!app', '! app', ' !app',
  '!!app', 'app!', '!app=web', '!app,!weight', 'app web', 'app,tier', 'app=web tier=front', 'app=web=db',
  'app=web;tier=front', 'app=web&tier=front', 'app="web"', "app='web'",
  // Sets.
  'app in (web)', 'app in (web,db)', 'app in ( web , db )', 'app in (web, db),tier=front', 'app in()', 'app in ()',
  'app in (,)', 'app in (,web)', 'app in (web,)', 'app in (web,,db)', 'app notin (web)', 'app notin (web,db)',
  'app notin ()', 'app notin (,)', 'app in web', 'app in (web', 'app in web)', 'app (web)', 'app IN (web)',
  'app In (web)', 'app not in (web)', 'app in(web)', 'app notin(web)', 'app in (web db)', 'app in (web);',
  'app in (web) tier', 'app in (web),tier notin (front)', 'canary in ()', 'canary in (,)', 'canary in (x,)',
  'in in (in)', 'notin notin (notin)', 'in', 'notin', '!in', 'in=in', 'notin=notin', 'in in (in,in)', 'exists',
  '!exists',
  // Comparisons of integers.
  'weight>9', 'weight<10', 'weight > 8', 'weight gt 9', 'weight<0', 'weight>-4', 'weight>9.5', 'weight>abc', 'weight>',
  'weight>1,weight<10', 'weight>9223372036854775806', 'weight>9223372036854775807', 'weight<9223372036854775808',
  'weight>=9', 'weight=>9', 'weight>+5', 'weight> 09',
  // Keys and values that are well or badly formed.
  'example.com/job=nightly', 'example.com/job', '!example.com/job', 'example.com/=x', '/job=x', 'example.com/a/b=x',
  'Example.com/job=x', 'app.kubernetes.io/version=1.2.3', 'app.kubernetes.io/version in (1.2.3)', 'app=Web', 'App=web',
  'app=-web', 'app=web-', 'app=we/b', '-app=web', 'app-=web', 'app_=web', '_app', 'a.b-c_d=x', 'app=é', 'é=x',
  'app=a b', `app=${'a'.repeat(63)}`, `app=${'a'.repeat(64)}`, `${'k'.repeat(63)}=x`, `${'k'.repeat(64)}=x`,
  `${'p'.repeat(63)}.com/k=x`, `${'p.'.repeat(127)}c/k=x`, `${'p.'.repeat(126)}c/k=x`, 'app in (-web)',
  'app notin (a b)', 'app in (web\n)', 'app\t=\tweb', 'app\nin\n(web)', 'app=web\r\n,tier', 'weight=-3',
  'weight in (-3)',
]

const podWith = (name: string, more: JsonObject = {}): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'field-selectors' },
  spec: {
    containers: [{ name: 'main', image: 'image' }],
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    ...more,
  },
  status: { phase: 'Pending' },
})

/** Pods with every field that a selector below asks for, as the server has it. */
export const selectedPods: readonly UntypedObject[] = [
  podWith('alpha', { nodeName: 'node-1' }),
  podWith('beta', { nodeName: 'node-2', serviceAccountName: 'robot' }),
  podWith('gamma'),
  podWith('delta.x', { nodeName: 'node-1', serviceAccountName: 'robot' }),
]

export const fieldSelectors: readonly string[] = [
  '', 'metadata.name=alpha', 'metadata.name==alpha', 'metadata.name!=alpha', 'metadata.name = alpha',
  'metadata.name= alpha', 'metadata.name=', 'metadata.name!=', 'metadata.name', '!metadata.name',
  'metadata.name=alpha,metadata.name=beta', 'metadata.name=alpha,', ',metadata.name=alpha',
  'metadata.name=alpha,,spec.nodeName=node-1', 'metadata.name in (alpha)', 'metadata.name=alpha=beta',
  'metadata.name==alpha=beta', 'metadata.name!==alpha', 'metadata.name=!alpha', '=alpha', '!=alpha',
  'metadata.namespace=field-selectors', 'metadata.namespace=other', 'metadata.namespace!=other', 'spec.nodeName=node-1',
  'spec.nodeName=', 'spec.nodeName!=', 'spec.nodeName!=node-1', 'spec.nodeName=node-1,metadata.name!=alpha',
  'spec.serviceAccountName=robot', 'status.phase=Pending', 'status.phase!=Pending', 'status.phase=pending',
  'spec.restartPolicy=Always', 'spec.restartPolicy!=Always', 'spec.schedulerName=default-scheduler',
  'spec.hostNetwork=false', 'status.podIP=', 'status.nominatedNodeName=', 'metadata.labels=x', 'metadata.uid=x',
  'spec.containers=x', 'metadata.Name=alpha', 'metadata.name=al\\,pha', 'metadata.name=al\\=pha',
  'metadata.name=al\\\\pha', 'metadata.name=al\\pha', 'metadata.name=alpha\\', 'metadata.name=delta.x',
  ' metadata.name=alpha', 'metadata.name=alpha ', 'metadata.name=alpha, spec.nodeName=node-1', 'metadata.name="alpha"',
  'metadata.name>alpha', ',',
]
