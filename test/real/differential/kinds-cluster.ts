/** Kinds of the network, of access, and of the cluster as a whole: what the generator writes to them. */
import { gone, type Kind } from './step.ts'

const rule = { apiGroups: ['nothing.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }
const webhook = {
  name: 'one.example.com',
  clientConfig: { url: 'https://webhook.example.com/' },
  rules: [rule],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}

export const clusterKinds: readonly Kind[] = [
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    plural: 'ingresses',
    namespaced: true,
    template: {
      spec: {
        ingressClassName: 'none',
        rules: [
          {
            host: 'a.example.com',
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }],
            },
          },
        ],
      },
    },
    edits: [
      ['spec/rules/0/host', '*.example.com', 'Bad_Host', gone, '1.2.3.4'],
      ['spec/rules/0/http/paths/0/path', '/x', 'x', gone, ''],
      ['spec/rules/0/http/paths/0/pathType', 'Exact', 'ImplementationSpecific', 'Odd', gone],
      [
        'spec/rules/0/http/paths/0/backend',
        { service: { name: 's', port: { name: 'http' } } },
        { service: { name: 's' } },
        { resource: { kind: 'X', name: 'y' } },
        {},
      ],
      ['spec/rules/1', { host: 'b.example.com' }],
      ['spec/rules', [], gone],
      ['spec/tls', [{ hosts: ['a.example.com'], secretName: 't' }], [{ hosts: ['bad_'] }], []],
      ['spec/ingressClassName', 'nginx', '', 'Bad_'],
      ['spec/defaultBackend', { service: { name: 'd', port: { number: 1 } } }, {}],
    ],
    status: [['status/loadBalancer/ingress', [{ ip: '1.2.3.4' }], [{ ip: 'x' }], []]],
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    namespaced: true,
    template: { spec: { podSelector: { matchLabels: { app: 'a' } }, policyTypes: ['Ingress'] } },
    edits: [
      ['spec/podSelector', {}, gone, { matchExpressions: [{ key: 'a', operator: 'In' }] }],
      ['spec/policyTypes', ['Egress'], ['Odd'], gone, ['Ingress', 'Egress'], ['Ingress', 'Egress', 'Ingress']],
      [
        'spec/ingress',
        [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }],
        [{}],
        [{ from: [{}] }],
        [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/9'] } }] }],
      ],
      [
        'spec/egress',
        [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [{ port: 'http', protocol: 'UDP' }] }],
        [{ ports: [{ port: 5, endPort: 3 }] }],
        [{ ports: [{ port: 0 }] }],
      ],
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    plural: 'roles',
    namespaced: true,
    template: { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }] },
    edits: [
      ['rules/0/verbs', ['watch'], [], gone],
      ['rules/0/resources', ['pods', 'services'], [], gone],
      // Not an empty list within a list that is owned as a whole: to Go it is not the same as none.
      ['rules/0/resourceNames', ['a']],
      ['rules/0/apiGroups', ['apps'], [], gone],
      ['rules/0/nonResourceURLs', ['/healthz']],
      ['rules/1', { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] }],
      ['rules', [], gone, null],
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    plural: 'rolebindings',
    namespaced: true,
    template: {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [{ kind: 'ServiceAccount', name: 'sa', namespace: 'default' }],
    },
    edits: [
      ['roleRef/name', 'other', ''],
      ['roleRef/kind', 'ClusterRole', 'Odd'],
      ['roleRef/apiGroup', gone, 'x'],
      [
        'subjects',
        [{ kind: 'User', name: 'u' }],
        [{ kind: 'Group', name: 'g', apiGroup: 'rbac.authorization.k8s.io' }],
        [],
        gone,
        [{ kind: 'Odd', name: 'x' }],
        [{ kind: 'ServiceAccount', name: 'x' }],
        [{ kind: 'User', name: '' }],
      ],
      ['subjects/0/namespace', 'other', gone],
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    plural: 'clusterroles',
    namespaced: false,
    template: { rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }] },
    edits: [
      ['rules/0/verbs', ['watch'], []],
      ['rules/0/nonResourceURLs', ['/healthz']],
      [
        'rules/1',
        { nonResourceURLs: ['/metrics', '/x/*'], verbs: ['get'] },
        { nonResourceURLs: ['x*y'], verbs: ['get'] },
      ],
      ['rules', [], gone],
      // No selector that selects: who gathers rules here is a controller there.
      ['aggregationRule', { clusterRoleSelectors: [] }, {}, gone],
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    plural: 'clusterrolebindings',
    namespaced: false,
    template: {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'none-such' },
      subjects: [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }],
    },
    edits: [
      ['roleRef/name', 'other-none', ''],
      ['roleRef/kind', 'Role'],
      ['subjects', [], gone, [{ kind: 'ServiceAccount', name: 'x', namespace: 'y' }]],
    ],
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    plural: 'persistentvolumes',
    namespaced: false,
    template: {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/tmp' },
        storageClassName: 'none',
      },
    },
    edits: [
      ['spec/capacity/storage', '2Gi', '0', 'x', gone],
      ['spec/capacity', gone, {}],
      ['spec/accessModes', ['ReadOnlyMany'], [], ['Odd']],
      ['spec/hostPath', { path: '/x', type: 'Directory' }, { path: '/../x' }, gone],
      ['spec/nfs', { server: 's', path: '/' }],
      ['spec/persistentVolumeReclaimPolicy', 'Delete', 'Odd', 'Recycle'],
      ['spec/storageClassName', 'other', gone],
      ['spec/volumeMode', 'Block', 'Odd'],
      ['spec/mountOptions', ['ro'], []],
      [
        'spec/nodeAffinity',
        { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }] } },
        {},
      ],
      ['spec/claimRef', { namespace: 'x', name: 'y' }, {}],
    ],
    status: [
      ['status/phase', 'Bound', 'Available', 'Failed'],
      ['status/message', 'm'],
      ['status/reason', 'r'],
    ],
  },
  {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    plural: 'priorityclasses',
    namespaced: false,
    template: { value: 100 },
    edits: [
      ['value', 200, gone, 2_000_000_000, -5, 'x'],
      ['description', 'd', gone],
      ['preemptionPolicy', 'Never', 'Odd'],
      ['globalDefault', false],
    ],
  },
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    plural: 'storageclasses',
    namespaced: false,
    template: { provisioner: 'example.com/p', parameters: { a: 'b' } },
    edits: [
      ['provisioner', 'example.com/q', '', gone, 'Bad Name'],
      ['parameters/a', 'c', gone],
      ['parameters', {}, gone, { '': 'x' }],
      ['reclaimPolicy', 'Retain', 'Odd'],
      ['volumeBindingMode', 'WaitForFirstConsumer', 'Odd'],
      ['allowVolumeExpansion', true, false],
      ['mountOptions', ['ro'], []],
      [
        'allowedTopologies',
        [{ matchLabelExpressions: [{ key: 'z', values: ['a'] }] }],
        [{}],
        [{ matchLabelExpressions: [{ key: 'z', values: [] }] }],
      ],
    ],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
    isTouchy: true,
    template: { webhooks: [webhook] },
    edits: [
      ['webhooks/0/failurePolicy', 'Ignore', 'Odd'],
      ['webhooks/0/matchPolicy', 'Exact', 'Odd'],
      ['webhooks/0/sideEffects', 'NoneOnDryRun', 'Some', gone],
      ['webhooks/0/timeoutSeconds', 5, 0, 31],
      ['webhooks/0/admissionReviewVersions', ['v1beta1'], [], ['v1', 'v1']],
      ['webhooks/0/name', 'short', 'two.example.com'],
      [
        'webhooks/0/clientConfig',
        { service: { name: 's', namespace: 'n' } },
        {},
        { url: 'http://x/' },
        { service: { name: 's', namespace: 'n', path: '/x', port: 1 } },
      ],
      ['webhooks/0/rules/0/scope', 'Namespaced', 'Odd'],
      ['webhooks/0/rules/0/operations', ['UPDATE'], ['ODD'], [], ['*', 'CREATE']],
      ['webhooks/0/matchConditions', [{ name: 'c', expression: 'true' }], [{ name: 'c', expression: 'no(' }]],
      ['webhooks/1', { ...webhook, name: 'three.example.com' }, webhook],
      // Not an empty list: to Go it is not the same as none, and counts as a generation of its own.
      ['webhooks', gone],
    ],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    namespaced: false,
    isTouchy: true,
    template: { webhooks: [webhook] },
    edits: [
      ['webhooks/0/reinvocationPolicy', 'IfNeeded', 'Odd'],
      ['webhooks/0/failurePolicy', 'Ignore', 'Odd'],
      ['webhooks/0/timeoutSeconds', 5, 0],
      ['webhooks/1', { ...webhook, name: 'three.example.com' }],
      // Not an empty list: to Go it is not the same as none, and counts as a generation of its own.
      ['webhooks', gone],
    ],
  },
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    template: {},
    edits: [
      ['spec', { finalizers: ['example.com/own'] }, {}],
      ['spec/finalizers', ['bad'], ['kubernetes', 'example.com/x']],
    ],
    status: [
      ['status/phase', 'Active', 'Odd', 'Terminating'],
      ['status/conditions', [{ type: 'NamespaceContentRemaining', status: 'True', reason: 'r', message: 'm' }], []],
    ],
  },
]
