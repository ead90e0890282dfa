/** JSON merge patch (RFC 7386): null deletes, maps merge, everything else replaces. */
import type { Json } from '../../../src/kube/json.ts'
import { type PatchCase, type PatchedObject, containerDefaults } from './patches.ts'

const on =
  (object: PatchedObject) =>
  (name: string, patch: Json): PatchCase => ({ name: `${object}: ${name}`, object, patch })
const doc = on('doc')
const configMap = on('configMap')
const deployment = on('deployment')
const service = on('service')

export const mergePatchCases: readonly PatchCase[] = [
  doc('empty', {}),
  doc('set a scalar', { spec: { number: 2 } }),
  doc('add a member', { spec: { new: 'x' } }),
  doc('add a map', { spec: { new: { a: { b: 1 } } } }),
  doc('delete a member', { spec: { number: null } }),
  doc('delete a missing member', { spec: { none: null } }),
  doc('delete below a missing parent', { spec: { none: { x: null } } }),
  doc('null deep in a new map is dropped', { spec: { new: { a: null, b: 1, c: { d: null } } } }),
  doc('null in a new list stays', { spec: { new: [null, { a: null }] } }),
  doc('null in a replaced list stays', { spec: { list: [1, null] } }),
  doc('null inside an object of a list', { spec: { objects: [{ k: 'a', v: null }] } }),
  doc('merge two maps', { spec: { map: { y: { w: 3 }, n: 1 } } }),
  doc('delete in a nested map', { spec: { map: { y: { z: null } } } }),
  doc('an empty map changes nothing', { spec: { map: {} } }),
  doc('map over a scalar', { spec: { number: { a: 1 } } }),
  doc('map with null over a scalar', { spec: { number: { a: null } } }),
  doc('map over null', { spec: { nothing: { a: 1 } } }),
  doc('map over a list', { spec: { list: { a: 1 } } }),
  doc('map with null over a list', { spec: { list: { a: null, b: 1 } } }),
  doc('scalar over a map', { spec: { map: 1 } }),
  doc('list over a list', { spec: { list: [4] } }),
  doc('empty list over a list', { spec: { list: [] } }),
  doc('list over a map', { spec: { map: [1] } }),
  doc('empty map over a list', { spec: { list: {} } }),
  doc('empty map over a scalar', { spec: { number: {} } }),
  doc('long integer', { spec: { new: 9223372036854775807n } }),
  doc('long integer beside stays', { spec: { number: 3 } }),
  doc('float of whole value', { spec: { new: 1e3 } }),
  doc('member without a name', { spec: { '': null } }),
  doc('members with slashes and tildes', { spec: { 'a/b': null, 'm~n': 1, 'c/d': 2 } }),
  doc('replace all labels by null and more', { metadata: { labels: null } }),
  doc('add and delete labels', { metadata: { labels: { app: null, new: 'x' } } }),
  doc('delete spec', { spec: null }),
  doc('scalar for a patch', 1),
  doc('null for a patch', null),
  doc('list for a patch', [{ op: 'add', path: '/spec/x', value: 1 }]),
  doc('text for a patch', 'abc'),
  configMap('set data', { data: { a: 'x', d: 'y' } }),
  configMap('delete data', { data: { a: null } }),
  configMap('delete all data', { data: null }),
  configMap('delete every key of data', { data: { a: null, b: null, c: null } }),
  configMap('set an annotation', { metadata: { annotations: { note: 'second', more: 'x' } } }),
  configMap('delete the annotations', { metadata: { annotations: null } }),
  configMap('replace the finalizers', { metadata: { finalizers: ['example.com/c'] } }),
  configMap('replace the owners', {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'three', uid: 'uid-3' }] },
  }),
  configMap('delete the owners', { metadata: { ownerReferences: null } }),
  configMap('data of the wrong type', { data: { a: 1 } }),
  configMap('unknown member', { unknown: 1 }),
  configMap('strategic directives mean nothing here', { data: { $patch: 'replace', z: '1' } }),
  configMap('change the name', { metadata: { name: 'other' } }),
  configMap('the wrong resource version', { metadata: { resourceVersion: '1' }, data: { a: 'x' } }),
  configMap('the wrong uid', { metadata: { uid: 'nobody' }, data: { a: 'x' } }),
  deployment('scale', { spec: { replicas: 5 } }),
  deployment('replace the containers', {
    spec: {
      template: { spec: { volumes: null, containers: [{ name: 'only', image: 'only:1', ...containerDefaults }] } },
    },
  }),
  deployment('delete the node selector', { spec: { template: { spec: { nodeSelector: null } } } }),
  deployment('merge the node selector', {
    spec: { template: { spec: { nodeSelector: { disk: null, arch: 'arm64' } } } },
  }),
  deployment('change the strategy', { spec: { strategy: { type: 'Recreate', rollingUpdate: null } } }),
  deployment('containers without names', { spec: { template: { spec: { containers: [{ image: 'x' }] } } } }),
  service('replace the ports', { spec: { ports: [{ name: 'only', port: 8080, protocol: 'TCP', targetPort: 8080 }] } }),
  service('delete the selector', { spec: { selector: null } }),
]
