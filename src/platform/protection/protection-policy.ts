/**
 * Protection of installed objects from accidents of people: a ValidatingAdmissionPolicy, so that it also holds while Muster is
 * away, and no request ever waits for a webhook.
 *
 * It guards against mistakes, not against attackers: it names its ways out. Hence the failure policy is Ignore. An expression
 * that cannot be evaluated, for an object of a shape that was not foreseen, must not keep an administrator from repairing a
 * cluster; the Installation puts an edit right afterwards anyway.
 */
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { holderLabel, platformLabel, platformName } from '../installation/holder.ts'
import {
  breakGlassAnnotation,
  createOnce,
  managedAnnotation,
  policyAnnotation,
} from '../installation/object-annotations.ts'

/** `Off` has no objects. */
export type ProtectionMode = 'Deny' | 'Warn'

const group = 'admissionregistration.k8s.io'

export const protectionKinds: readonly GroupVersionKind[] = [
  { group, version: 'v1', kind: 'ValidatingAdmissionPolicy' },
  { group, version: 'v1', kind: 'ValidatingAdmissionPolicyBinding' },
]

const objectsName = 'protection.platform.muster.dev'
const installationsName = 'installations.protection.platform.muster.dev'

/** A policy and its binding for installed objects, and then for the Installations of a Platform. */
export function protectionObjects(mode: ProtectionMode): readonly UntypedObject[] {
  return [...boundPolicy(objectsName, policySpec(), mode), ...boundPolicy(installationsName, installationsSpec(), mode)]
}

function boundPolicy(name: string, spec: UntypedObject[string], mode: ProtectionMode): readonly UntypedObject[] {
  const [policy, binding] = protectionKinds.map(({ kind }) => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name },
  }))
  const validationActions = mode === 'Deny' ? ['Deny'] : ['Warn', 'Audit']
  return [
    { ...policy!, spec },
    { ...binding!, spec: { policyName: name, validationActions } },
  ]
}

function policySpec(): UntypedObject[string] {
  return {
    failurePolicy: 'Ignore',
    matchConstraints: {
      // Of an update both objects are looked at, so that an object is not freed by taking its label away.
      objectSelector: { matchExpressions: [{ key: holderLabel, operator: 'Exists' }] },
      resourceRules: [rule(['*'], ['*'], ['UPDATE', 'DELETE'])],
      excludeResourceRules: [
        rule(['coordination.k8s.io'], ['leases']),
        rule(['', 'events.k8s.io'], ['events']),
        // Controllers copy the labels of a Service to them.
        rule(['', 'discovery.k8s.io'], ['endpoints', 'endpointslices']),
        // Nodes are drained, and Pods replaced.
        rule([''], ['pods']),
        // Installations decide by themselves what becomes of their objects.
        rule(['platform.muster.dev'], ['*']),
      ],
    },
    matchConditions: peopleOnly,
    variables,
    validations: [
      validation(
        `request.operation != 'DELETE' || variables.isOpen || ${policyOfOld} == '${createOnce}'`,
        'is not to be deleted by hand',
      ),
      validation(
        "request.operation != 'UPDATE' || variables.isOpen || variables.keepsLabel",
        `must keep its label ${holderLabel}`,
      ),
      validation(
        "request.operation != 'UPDATE' || variables.isOpen || variables.isOfUsers || variables.isSame || variables.isUsersChange",
        'is not to be edited by hand, but for its labels and annotations, and the replicas and resources of workloads',
      ),
    ],
  }
}

/** The Platform corrects edits of its Installations by itself; a deletion takes the objects with it. */
function installationsSpec(): UntypedObject[string] {
  return {
    failurePolicy: 'Ignore',
    matchConstraints: {
      objectSelector: { matchExpressions: [{ key: platformLabel, operator: 'Exists' }] },
      resourceRules: [rule(['platform.muster.dev'], ['installations'], ['DELETE'])],
    },
    matchConditions: peopleOnly,
    validations: [
      {
        expression: `${valueOf('oldObject', 'annotations', breakGlassAnnotation)} != ''`,
        reason: 'Forbidden',
        message: 'It belongs to a Platform and is not to be deleted by hand.',
        messageExpression:
          `'Installation ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name + ' belongs to a Platform and is not to be deleted by hand.` +
          ` Change managementState of the component of its name in the Platform. In an emergency: kubectl annotate installations.platform.muster.dev -n '` +
          ` + oldObject.metadata.namespace + ' ' + oldObject.metadata.name + ' ${breakGlassAnnotation}=REASON permits it.'`,
      },
    ],
  }
}

function rule(apiGroups: readonly string[], resources: readonly string[], operations: readonly string[] = ['*']) {
  return { apiGroups, apiVersions: ['*'], resources, operations, scope: '*' }
}

/** Controllers of the cluster, the garbage collector and the deletion of namespaces among them. */
const isMachine = `has(request.userInfo.username) && (${[
  "request.userInfo.username.startsWith('system:serviceaccount:')",
  "request.userInfo.username.startsWith('system:node:')",
  "request.userInfo.username.startsWith('system:kube-')",
  "request.userInfo.username.startsWith('system:cloud-')",
  "request.userInfo.username == 'system:apiserver'",
].join(' || ')})`

/**
 * It may run outside of the cluster, as an ordinary user: its writes name their field manager, and its deletes the uid of the
 * object, which those of kubectl do not.
 */
const isMuster =
  "request.operation == 'DELETE'" +
  ' ? has(request.options.preconditions) && has(request.options.preconditions.uid)' +
  ` : has(request.options.fieldManager) && request.options.fieldManager == '${platformName}'`

const peopleOnly = [
  { name: 'people', expression: `!(${isMachine})` },
  { name: 'not-by-muster', expression: `!(${isMuster})` },
]

/** The value of an annotation or a label; empty if there is none. */
function valueOf(object: string, field: 'labels' | 'annotations', key: string): string {
  const map = `${object}.metadata.${field}`
  return `(has(${map}) && '${key}' in ${map} ? ${map}['${key}'] : '')`
}

const policyOfOld = valueOf('oldObject', 'annotations', policyAnnotation)
const holderOf = (object: string): string => valueOf(object, 'labels', holderLabel)

const isOpened = (object: string): string =>
  `${valueOf(object, 'annotations', breakGlassAnnotation)} != '' || ${valueOf(object, 'annotations', managedAnnotation)} == 'false'`

/** Equality of two maps, but for some keys. */
function sameBut(one: string, other: string, keys: readonly string[]): string {
  const isLeftOut = `k in [${keys.map((key) => `'${key}'`).join(', ')}]`
  return (
    `${one}.all(k, ${isLeftOut} || (k in ${other} && ${one}[k] == ${other}[k]))` +
    ` && ${other}.all(k, ${isLeftOut} || k in ${one})`
  )
}

const template = (object: string): string => `${object}.spec.template`
const containers = (object: string): string => `${template(object)}.spec.containers`

const variables = [
  { name: 'holder', expression: holderOf('oldObject') },
  {
    name: 'isOpen',
    expression:
      `variables.holder == '' || ${isOpened('oldObject')}` +
      ` || (request.operation == 'UPDATE' && (${isOpened('object')}))`,
  },
  { name: 'keepsLabel', expression: `${holderOf('object')} == variables.holder` },
  {
    name: 'isOfUsers',
    expression: `${policyOfOld} in ['create-only', '${createOnce}', 'ignore']`,
  },
  { name: 'isSame', expression: sameBut('object', 'oldObject', ['metadata', 'status']) },
  {
    name: 'isUsersChange',
    expression: [
      "request.resource.group == 'apps' && request.resource.resource in ['deployments', 'statefulsets']",
      sameBut('object', 'oldObject', ['metadata', 'status', 'spec']),
      sameBut('object.spec', 'oldObject.spec', ['replicas', 'template']),
      sameBut(template('object'), template('oldObject'), ['spec']),
      sameBut(`${template('object')}.spec`, `${template('oldObject')}.spec`, ['containers']),
      `${containers('object')}.size() == ${containers('oldObject')}.size()`,
      `${containers('object')}.all(c, ${containers('oldObject')}.exists(o, c.name == o.name && ${sameBut('c', 'o', ['resources'])}))`,
    ].join(' && '),
  },
  {
    name: 'place',
    expression:
      "(has(oldObject.metadata.namespace) ? oldObject.metadata.namespace + '/' : '') + oldObject.metadata.name",
  },
  {
    name: 'command',
    expression:
      "'kubectl annotate ' + request.resource.resource" +
      " + (request.resource.group == '' ? '' : '.' + request.resource.group)" +
      " + (has(oldObject.metadata.namespace) ? ' -n ' + oldObject.metadata.namespace : '')" +
      " + ' ' + oldObject.metadata.name",
  },
]

/** The holder is `namespace.name`, and a namespace has no dots. */
function validation(expression: string, what: string) {
  return {
    expression,
    reason: 'Forbidden',
    message: `It is managed by an Installation and ${what}.`,
    messageExpression:
      "request.kind.kind + ' ' + variables.place + ' is managed by Installation ' + variables.holder.replace('.', '/', 1)" +
      ` + ' and ${what}. Change the Installation, or the component of its name in the Platform.` +
      ` In an emergency: ' + variables.command + ' ${breakGlassAnnotation}=REASON` +
      ` leaves the object to you until you remove the annotation; ${managedAnnotation}=false does so for good.'`,
  }
}
