/** Kinds that say what others may write, and how the server is to behave: what the generator writes to them. */
import { gone, type Kind } from './step.ts'

const nothing = {
  resourceRules: [
    { apiGroups: ['nothing.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] },
  ],
}

export const policyKinds: readonly Kind[] = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    plural: 'validatingadmissionpolicies',
    namespaced: false,
    isTouchy: true,
    template: {
      spec: {
        matchConstraints: nothing,
        validations: [{ expression: 'object.metadata.name != "x"', message: 'no x' }],
      },
    },
    edits: [
      ['spec/failurePolicy', 'Ignore', 'Odd'],
      ['spec/validations/0/expression', 'true', '1', 'no(', '', gone],
      ['spec/validations/0/message', 'other', 'two\nlines', gone],
      ['spec/validations/0/messageExpression', '"m"', '1'],
      ['spec/validations/0/reason', 'Forbidden', 'Odd'],
      ['spec/validations', [], gone],
      ['spec/variables', [{ name: 'a', expression: '1' }], [{ name: 'a b', expression: '1' }], []],
      ['spec/auditAnnotations', [{ key: 'k', valueExpression: '"v"' }], [{ key: 'k', valueExpression: '1' }]],
      ['spec/matchConditions', [{ name: 'c', expression: 'true' }], [{ name: 'c', expression: 'no(' }]],
      ['spec/paramKind', { apiVersion: 'v1', kind: 'ConfigMap' }, { kind: 'ConfigMap' }, {}],
      ['spec/matchConstraints/matchPolicy', 'Exact', 'Odd'],
    ],
    status: [['status/observedGeneration', 1, 5]],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    plural: 'validatingadmissionpolicybindings',
    namespaced: false,
    isTouchy: true,
    template: { spec: { policyName: 'none-such', validationActions: ['Deny'] } },
    edits: [
      ['spec/policyName', 'other-none', '', gone],
      ['spec/validationActions', ['Warn', 'Audit'], ['Deny', 'Warn'], ['Odd'], [], gone],
      [
        'spec/paramRef',
        { name: 'p', parameterNotFoundAction: 'Deny' },
        { name: 'p' },
        {},
        { selector: {}, parameterNotFoundAction: 'Allow' },
      ],
      ['spec/matchResources', { namespaceSelector: { matchLabels: { a: 'b' } } }, {}, { matchPolicy: 'Odd' }],
    ],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    plural: 'mutatingadmissionpolicies',
    namespaced: false,
    isTouchy: true,
    template: {
      spec: {
        matchConstraints: nothing,
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}' },
          },
        ],
      },
    },
    edits: [
      ['spec/failurePolicy', 'Ignore', 'Odd'],
      ['spec/reinvocationPolicy', 'IfNeeded', 'Odd', gone],
      [
        'spec/mutations/0',
        { patchType: 'JSONPatch', jsonPatch: { expression: '[]' } },
        { patchType: 'Odd' },
        { patchType: 'JSONPatch' },
      ],
      ['spec/mutations', [], gone],
      ['spec/variables', [{ name: 'a', expression: '1' }], []],
      ['spec/matchConditions', [{ name: 'c', expression: 'true' }]],
    ],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    plural: 'mutatingadmissionpolicybindings',
    namespaced: false,
    isTouchy: true,
    template: { spec: { policyName: 'none-such' } },
    edits: [
      ['spec/policyName', 'other-none', '', gone],
      ['spec/paramRef', { name: 'p', parameterNotFoundAction: 'Deny' }, { name: 'p' }, {}],
      ['spec/matchResources', { namespaceSelector: { matchLabels: { a: 'b' } } }, {}],
    ],
  },
  {
    // The real server acts on them, and reports.
    isDryRun: true,
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    plural: 'flowschemas',
    namespaced: false,
    template: {
      spec: {
        priorityLevelConfiguration: { name: 'none-such' },
        matchingPrecedence: 9000,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'nobody' } }],
            resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['x'] }],
          },
        ],
      },
    },
    edits: [
      ['spec/matchingPrecedence', 0, 20000, gone, 5],
      ['spec/distinguisherMethod', { type: 'ByUser' }, { type: 'Odd' }, gone],
      ['spec/priorityLevelConfiguration/name', '', gone, 'exempt'],
      [
        'spec/rules/0/subjects',
        [],
        [{ kind: 'Odd' }],
        [{ kind: 'Group', group: { name: 'g' } }],
        [{ kind: 'ServiceAccount' }],
      ],
      ['spec/rules', [], gone],
    ],
  },
  {
    isDryRun: true,
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'PriorityLevelConfiguration',
    plural: 'prioritylevelconfigurations',
    namespaced: false,
    template: {
      spec: { type: 'Limited', limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } } },
    },
    edits: [
      ['spec/type', 'Exempt', 'Odd', gone],
      ['spec/limited/nominalConcurrencyShares', 0, -1, gone],
      [
        'spec/limited/limitResponse',
        { type: 'Queue' },
        { type: 'Odd' },
        {},
        { type: 'Queue', queuing: { queues: 5, handSize: 9 } },
      ],
      ['spec/limited/lendablePercent', 50, 101],
      ['spec/limited', gone, {}],
    ],
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    plural: 'ingressclasses',
    namespaced: false,
    template: { spec: { controller: 'example.com/c' } },
    edits: [
      ['spec/controller', 'example.com/d', 'plain', '', gone],
      [
        'spec/parameters',
        { kind: 'K', name: 'n' },
        { apiGroup: 'g.example.com', kind: 'K', name: 'n', scope: 'Namespace', namespace: 'x' },
        { kind: 'K', name: 'n', scope: 'Namespace' },
        { kind: 'K', name: 'n', scope: 'Odd' },
        {},
      ],
    ],
  },
  {
    isDryRun: true,
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    plural: 'servicecidrs',
    namespaced: false,
    template: { spec: { cidrs: ['10.200.0.0/24'] } },
    edits: [
      [
        'spec/cidrs',
        ['x'],
        [],
        ['10.200.0.0/24', '10.201.0.0/24'],
        ['10.200.0.0/24', 'fd00::/64'],
        ['10.200.0.1/24'],
        gone,
      ],
      ['spec', gone],
    ],
  },
  {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    plural: 'certificatesigningrequests',
    namespaced: false,
    template: {
      spec: {
        request:
          'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZk1JR0ZBZ0VBTUNNeERqQU1CZ05WQkFvTUJXZHliM1Z3TVJFd0R3WURWUVFEREFoemIyMWxZbTlrZVRCWgpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQUJNWXJPbnkwbDhmRHZydkhqWjRwSWRrOXkzNGV2OWRjCjdNUjZFNXNRTnRrVXZ3emdLSjhDYW5IOGpHUE9IUUIwS0VJU1NZYnQ3N1h2cENJRnhNQ096VjZnQURBS0JnZ3EKaGtqT1BRUURBZ05KQURCR0FpRUEraGtZeUNUcDBETzBYcmlRV1VEQWlWQ1puVE03UUkyQ1BvNWxlOHBVcXhnQwpJUUNMYlk1clFkZTVZTVYrTENZcEJKb01pK1FucHBaYmNyVmozWmh1Yi9RY0VnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
        signerName: 'example.com/signer',
        usages: ['client auth'],
      },
    },
    edits: [
      ['spec/request', 'YQ==', '*', gone],
      ['spec/signerName', 'example.com/other', 'plain', '', gone, 'kubernetes.io/kube-apiserver-client'],
      ['spec/usages', [], ['odd'], ['client auth', 'client auth'], gone],
      ['spec/expirationSeconds', 600, 5],
      ['spec/username', 'somebody'],
    ],
    actions: [
      {
        method: 'PATCH',
        subresource: 'approval',
        type: 'application/merge-patch+json',
        bodies: [
          { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }] } },
          { status: { conditions: [{ type: 'Denied', status: 'True', reason: 'r', message: 'm' }] } },
          { status: { conditions: [{ type: 'Approved', status: 'False' }], certificate: 'YQ==' } },
          { status: { conditions: [] } },
        ],
      },
    ],
    status: [
      ['status/certificate', 'YQ==', gone],
      [
        'status/conditions',
        [{ type: 'Failed', status: 'True', reason: 'r', message: 'm' }],
        [{ type: 'Approved', status: 'True' }],
        [],
      ],
    ],
  },
  {
    // The real server serves what is there, and reports.
    isDryRun: true,
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    plural: 'apiservices',
    namespaced: false,
    template: {
      spec: {
        group: 'g.example.com',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
        service: { name: 's', namespace: 'n' },
      },
    },
    edits: [
      ['spec/group', '', 'Bad Group', gone],
      ['spec/version', 'v2', '', gone],
      ['spec/groupPriorityMinimum', 0, 30000, gone],
      ['spec/versionPriority', 0, 2000],
      ['spec/insecureSkipTLSVerify', true],
      ['spec/caBundle', 'YQ==', '*'],
      ['spec/service', gone, {}, { name: 's', namespace: 'n', port: 0 }],
    ],
  },
  {
    // The controllers of the real server take their time.
    isDryRun: true,
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
    template: {
      spec: {
        group: 'g.example.com',
        scope: 'Namespaced',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
          },
        ],
      },
    },
    edits: [
      ['spec/group', 'Bad Group', '', gone],
      ['spec/scope', 'Cluster', 'Odd', gone],
      ['spec/names/plural', 'Things', 'others', gone],
      ['spec/names/shortNames', ['t'], ['T']],
      ['spec/versions/0/name', 'v2', '', 'Bad'],
      ['spec/versions/0/storage', false],
      ['spec/versions/0/schema/openAPIV3Schema/type', 'string', gone],
      [
        'spec/versions/0/schema/openAPIV3Schema/properties/spec',
        { type: 'odd' },
        { type: 'object', default: {} },
        { 'x-kubernetes-int-or-string': true },
        { type: 'array' },
      ],
      [
        'spec/versions/0/additionalPrinterColumns',
        [{ name: 'a', type: 'string', jsonPath: '.spec.a' }],
        [{ name: 'a', type: 'odd', jsonPath: 'x' }],
      ],
      ['spec/versions/0/subresources', { status: {} }, { scale: {} }],
      ['spec/conversion', { strategy: 'None' }, { strategy: 'Odd' }, { strategy: 'Webhook' }],
      ['spec/preserveUnknownFields', true, false],
    ],
  },
]
