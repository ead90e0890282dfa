/**
 * What people do with kubectl, as scripts; NS stands for a namespace of the script's own, ID for its number, where an
 * object belongs to no namespace. No controllers run on the real server, so a script that needs one does its work
 * itself (`patch --subresource=status`).
 */
import type { Step } from './kubectl.ts'

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1.0", ports: [{containerPort: 80}]}
`
const configMap = (data: string): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {${data}}
`
const pod = `
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: web}}
spec:
  nodeName: node
  containers: [{name: main, image: image}]
`
const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.kID.example.com}
spec:
  group: kID.example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, shortNames: [gad], categories: [toys]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size, description: how large}
    - {name: Note, type: string, jsonPath: .spec.note, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A gadget is a thing.
        properties:
          spec:
            type: object
            description: What it is to be.
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How large it is.}
              note: {type: string, default: none}
          status: {type: object, properties: {size: {type: integer}}}
`
const gadget = `
apiVersion: kID.example.com/v1
kind: Gadget
metadata: {name: first}
spec: {size: 3}
`

const apply = (stdin: string, flags = ''): Step => ({ run: `apply -n NS -f - ${flags}`, stdin })

export const scripts: Readonly<Record<string, readonly Step[]>> = {
  'create: the generators that need no file': [
    'create configmap a -n NS --from-literal=x=1 --from-literal=y=',
    'create secret generic s -n NS --from-literal=password=secret',
    'create secret docker-registry r -n NS --docker-server=example.com --docker-username=u --docker-password=p',
    'create serviceaccount sa -n NS',
    'create deployment d -n NS --image=nginx:1.0 --replicas=3 --port=80',
    'create job j -n NS --image=busybox -- echo hi',
    "create cronjob c -n NS --image=busybox --schedule='*/5 * * * *' -- date",
    'create job from -n NS --from=cronjob/c',
    'create service clusterip svc -n NS --tcp=80:8080',
    'create service nodeport np -n NS --tcp=80',
    'create service externalname en -n NS --external-name=example.com',
    'create quota q -n NS --hard=pods=2,services=10',
    'create poddisruptionbudget p -n NS --selector=app=web --min-available=50%',
    'create role r -n NS --verb=get,list --resource=pods,deployments.apps',
    'create rolebinding rb -n NS --role=r --serviceaccount=NS:sa --user=jane --group=g',
    'create clusterrole kubectl-ID --verb=get --resource=nodes',
    'create clusterrolebinding kubectl-ID --clusterrole=kubectl-ID --group=g',
    'create priorityclass kubectl-ID --value=1000 --description=fast',
    "create ingress i -n NS --rule='a.example.com/x*=svc:80,tls=t'",
    // What a quota has used is counted by a controller, which the real server here does not have.
    'get cm,secret,sa,deploy,job,cj,svc,pdb,role,rolebinding,ingress -n NS',
    'get quota -n NS -o name',
    'get deploy d -n NS -o yaml',
    'get job j -n NS -o json --show-managed-fields',
    'get svc svc -n NS -o yaml',
    'get secret s -n NS -o yaml',
    'get clusterrole kubectl-ID -o yaml',
    'get rolebinding rb -n NS -o yaml',
    'get clusterrolebinding kubectl-ID -o wide',
    'get priorityclass kubectl-ID',
    'create configmap a -n NS',
    'create namespace NS',
    'create deployment d2 -n NS --image=nginx --dry-run=server -o yaml',
    'create deployment d3 -n NS --image=nginx --dry-run=client -o yaml',
    'create configmap Bad_Name -n NS',
    'create configmap x -n no-such-ns-ID',
    'delete clusterrole,clusterrolebinding,priorityclass kubectl-ID',
    'autoscale deployment d -n NS --min=2 --max=5 --cpu=80%',
    'get hpa -n NS',
    'expose deployment d -n NS --port=8080 --target-port=80 --name=exposed',
    'get svc exposed -n NS -o wide',
    'run lone -n NS --image=nginx:1 --labels=a=b --env=X=1',
    'get pod lone -n NS -o yaml',
  ],

  'create: tokens of service accounts': [
    'create serviceaccount sa -n NS',
    'create token sa -n NS',
    'create token sa -n NS --duration=1h --audience=a -o yaml',
    'create token nobody -n NS',
    'create token sa -n NS --duration=1s',
  ],

  'create -f: manifests, good and bad': [
    { run: 'create -n NS -f -', stdin: `${deployment}\n---\n${configMap('a: b')}` },
    { run: 'create -n NS -f -', stdin: configMap('a: b') },
    { run: 'create -n NS -f -', stdin: configMap('a: 1') },
    { run: 'create -n NS -f -', stdin: `${pod}\nspek: {}` },
    { run: 'create -n NS -f - --validate=warn', stdin: `${pod}  extra: 1\n` },
    { run: 'create -n NS -f - --validate=strict', stdin: pod.replace('one', 'two').replace('nodeName', 'nodename') },
    { run: 'create -n NS -f -', stdin: pod.replace('image: image', 'imagePullPolicy: Sometimes') },
    { run: 'create -n NS -f -', stdin: 'apiVersion: v1\nkind: Nope\nmetadata: {name: x}' },
    { run: 'create -n NS -f -', stdin: 'apiVersion: no.example.com/v1\nkind: Nope\nmetadata: {name: x}' },
    { run: 'create -n NS -f - -o name', stdin: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: third}' },
    { run: 'create -n NS -f -', stdin: deployment.replace('app: web}}\n  template', 'app: other}}\n  template') },
  ],

  'get: tables and formats': [
    apply(deployment),
    apply(configMap('a: b')),
    apply(pod),
    'get pods,deploy,cm -n NS',
    'get pods -n NS -o wide',
    'get pods -n NS --show-labels',
    'get pods -n NS -L app',
    'get pods -n NS --no-headers',
    'get pods -n NS -o name',
    'get deploy web -n NS -o yaml',
    'get deploy web -n NS -o json',
    'get deploy web -n NS -o wide',
    "get deploy web -n NS -o jsonpath='{.spec.template.spec.containers[*].image}'",
    "get pods -n NS -o jsonpath='{range .items[*]}{.metadata.name}{end}'",
    "get pods -n NS -o go-template='{{range .items}}{{.metadata.name}}{{end}}'",
    'get pods -n NS -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName',
    'get pods -n NS --sort-by=.metadata.name',
    'get pods -n NS -l app=web',
    "get pods -n NS -l 'app in (web,x),!gone'",
    'get pods -n NS -l app=no',
    'get pods -n NS --field-selector=spec.nodeName=node',
    'get pods -n NS --field-selector=metadata.name!=one',
    'get pods -n NS --field-selector=spec.nope=1',
    'get pods -n NS -l a==',
    'get pod nope -n NS',
    'get nopes -n NS',
    'get pods -n NS --chunk-size=1',
    'get cm/settings deploy/web -n NS',
    'get pods -A --field-selector=metadata.namespace=NS',
    'get all -n NS',
    'get ns NS',
    'get pods -n NS --subresource=status one',
    'get deploy -n NS web --subresource=scale',
    'get --raw /api/v1/namespaces/NS/configmaps/settings',
    'get --raw /healthz',
    'get --raw /readyz',
    'get --raw /nope',
    'get --raw /api/v1',
    'get --raw /apis/apps',
  ],

  'get -w: sees changes as they come': [
    apply(configMap('a: b')),
    {
      run: 'get cm settings -n NS -w -o name',
      meanwhile: ['label cm settings -n NS x=y', 'delete cm settings -n NS'],
      until: 'settings\nconfigmap/settings\nconfigmap/settings\n',
    },
    apply(pod.replace('name: one', 'name: zero')),
    {
      run: 'get pods -n NS -w --output-watch-events',
      meanwhile: [apply(pod), 'delete pod one -n NS --force --grace-period=0'],
      until: 'DELETED',
    },
    apply(configMap('a: b')),
    {
      run: 'get cm -n NS -w --output-watch-events --field-selector=metadata.name=settings',
      meanwhile: ['label cm settings -n NS x=y', 'delete cm settings -n NS'],
      until: 'DELETED',
    },
  ],

  'describe: what it is told': [
    apply(deployment),
    apply(configMap('a: b')),
    apply(pod),
    'create secret generic s -n NS --from-literal=password=secret',
    'create service clusterip svc -n NS --tcp=80:8080',
    'create serviceaccount sa -n NS',
    'create role r -n NS --verb=get --resource=pods',
    'describe deploy web -n NS',
    'describe pod one -n NS',
    'describe cm settings -n NS',
    'describe secret s -n NS',
    'describe svc svc -n NS',
    'describe sa sa -n NS',
    'describe role r -n NS',
    'describe ns NS',
    'describe clusterrole system:discovery',
    'describe pod nope -n NS',
  ],

  'apply: client-side': [
    apply(deployment),
    apply(deployment),
    apply(deployment.replace('replicas: 2', 'replicas: 3').replace('nginx:1.0', 'nginx:2.0')),
    'get deploy web -n NS -o yaml',
    apply(configMap('a: b, c: d')),
    apply(configMap('c: e')),
    'get cm settings -n NS -o json --show-managed-fields',
    'apply view-last-applied cm/settings -n NS',
    apply(configMap('c: e'), '--dry-run=server'),
    apply(`${configMap('c: e')}\nbogus: 1`),
    apply(pod),
    apply(pod.replace('image: image', 'image: other')),
    apply(pod.replace('nodeName: node', 'nodeName: elsewhere')),
    { run: 'apply -n NS -f - --prune -l app=web --prune-allowlist=core/v1/ConfigMap', stdin: pod },
    'get cm -n NS -l app=web',
    { run: 'apply -n NS -f - --force', stdin: pod.replace('nodeName: node', 'nodeName: elsewhere') },
    apply(deployment.replace('app: web}}\n  template', 'app: web, more: "yes"}}\n  template')),
  ],

  'apply: server-side, with conflicts': [
    apply(configMap('a: b'), '--server-side --field-manager=one'),
    apply(configMap('a: c'), '--server-side --field-manager=two'),
    apply(configMap('a: c'), '--server-side --field-manager=two --force-conflicts'),
    apply(configMap('x: z'), '--server-side --field-manager=two'),
    'get cm settings -n NS -o json --show-managed-fields',
    apply(deployment, '--server-side'),
    'scale deploy web -n NS --replicas=5',
    apply(deployment, '--server-side'),
    apply(deployment, '--server-side --force-conflicts'),
    apply(deployment, '--server-side --dry-run=server'),
    'get deploy web -n NS -o json --show-managed-fields',
    apply(configMap('m: n').replace('settings', 'moved')),
    apply(configMap('m: o').replace('settings', 'moved'), '--server-side'),
    'get cm moved -n NS -o json --show-managed-fields',
    apply(configMap('a: {}').replace('settings', 'broken'), '--server-side'),
  ],

  'edit, patch, replace, set': [
    apply(deployment),
    apply(configMap('a: b')),
    // The whole line: a uid may end in "b" too.
    { run: 'edit cm settings -n NS', editor: 'sed -i "s/^  a: b$/  a: edited/"' },
    { run: 'edit cm settings -n NS', editor: 'true' },
    { run: 'edit deploy web -n NS', editor: 'sed -i s/replicas:.2/replicas:.7/' },
    { run: 'edit cm settings -n NS --output-patch', editor: 'sed -i s/edited/again/' },
    `patch cm settings -n NS -p '{"data":{"p":"1"}}'`,
    `patch cm settings -n NS --type=merge -p '{"data":{"p":null,"q":"2"}}'`,
    `patch cm settings -n NS --type=json -p '[{"op":"replace","path":"/data/q","value":"3"}]'`,
    `patch cm settings -n NS --type=json -p '[{"op":"test","path":"/data/q","value":"9"}]'`,
    `patch deploy web -n NS -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}'`,
    `patch deploy web -n NS -p '{"spec":{"replicas":"many"}}'`,
    `patch deploy web -n NS --subresource=scale --type=merge -p '{"spec":{"replicas":4}}'`,
    `patch deploy web -n NS --subresource=status --type=merge -p '{"status":{"replicas":4}}'`,
    `patch cm settings -n NS -p '{"data":{"p":"1"}}' --dry-run=server -o yaml`,
    'get deploy web -n NS -o json --show-managed-fields',
    'get cm settings -n NS -o yaml',
    { run: 'replace -n NS -f -', stdin: configMap('only: this') },
    'get cm settings -n NS -o yaml',
    { run: 'replace -n NS -f -', stdin: configMap('only: this').replace('settings', 'nope') },
    { run: 'replace -n NS --force -f -', stdin: configMap('fresh: start') },
    'set image deploy/web -n NS main=nginx:3.0',
    'set env deploy/web -n NS A=b',
    'set resources deploy/web -n NS --limits=cpu=200m,memory=512Mi',
    'set serviceaccount deploy/web -n NS other',
    "get deploy web -n NS -o jsonpath='{.spec.template.spec}'",
    'patch cm settings -n NS -p {',
  ],

  'label and annotate': [
    apply(configMap('a: b')),
    'label cm settings -n NS x=y',
    'label cm settings -n NS x=z',
    'label cm settings -n NS x=z --overwrite',
    'label cm settings -n NS x-',
    'label cm settings -n NS bad=!',
    'label cm -n NS --all t=u',
    'label cm -n NS -l app=web v=w',
    'annotate cm settings -n NS note=hello',
    'annotate cm settings -n NS note-',
    'annotate cm nope -n NS note=x',
    'get cm settings -n NS -o yaml',
  ],

  'scale, rollout, wait': [
    apply(deployment),
    'scale deploy web -n NS --replicas=3',
    'scale deploy web -n NS --replicas=4 --current-replicas=1',
    'scale deploy web -n NS --replicas=4 --current-replicas=3',
    'scale deploy nope -n NS --replicas=1',
    'rollout status deploy/web -n NS --timeout=1s',
    `patch deploy web -n NS --subresource=status --type=merge -p '{"status":{"observedGeneration":3,"replicas":4,"updatedReplicas":4,"readyReplicas":4,"availableReplicas":4,"conditions":[{"type":"Available","status":"True","reason":"Yes","message":"ok","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'`,
    'rollout status deploy/web -n NS --timeout=5s',
    'wait deploy/web -n NS --for=condition=Available --timeout=5s',
    "wait deploy/web -n NS --for='jsonpath={.status.readyReplicas}=4' --timeout=5s",
    'wait deploy/web -n NS --for=condition=Progressing --timeout=1s',
    'wait deploy/nope -n NS --for=delete --timeout=1s',
    'get deploy web -n NS',
    'rollout pause deploy/web -n NS',
    'rollout resume deploy/web -n NS',
    'rollout restart deploy/web -n NS',
    'rollout history deploy/web -n NS',
  ],

  'delete: wait, cascade, finalizers': [
    apply(configMap('a: b')),
    apply(deployment),
    apply(pod),
    'delete cm settings -n NS --dry-run=server',
    'delete cm settings -n NS',
    'delete cm settings -n NS',
    'delete cm settings -n NS --ignore-not-found',
    'delete deploy web -n NS --cascade=background',
    'delete pod one -n NS --grace-period=0 --force',
    apply(configMap('a: b')),
    `patch cm settings -n NS --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'`,
    'delete cm settings -n NS --wait=false',
    'delete cm settings -n NS --timeout=1s',
    'get cm settings -n NS -o yaml',
    `patch cm settings -n NS --type=merge -p '{"metadata":{"finalizers":null}}'`,
    'get cm settings -n NS',
    apply(`${configMap('a: b')}---${configMap('a: b').replace('settings', 'other')}`),
    'delete cm -n NS -l app=web',
    'delete cm nope -n NS --now',
    { run: 'delete -n NS -f -', stdin: configMap('a: b') },
    'create cm a -n NS',
    'create cm b -n NS',
    'delete cm --all -n NS',
    'get cm -n NS',
    'delete ns default',
  ],

  explain: [
    'explain pods',
    'explain deploy.spec.strategy',
    'explain pod.spec.containers.resources --recursive',
    'explain cm.data',
    'explain deploy.spec.nope',
    'explain nopes',
    'explain hpa --api-version=autoscaling/v1',
    'explain crd.spec.versions.schema',
  ],

  'api-resources, api-versions, version, cluster-info': [
    { run: 'api-versions', without: /example\.com|muster\.test/ },
    { run: 'api-resources --sort-by=name', without: /example\.com|muster\.test/ },
    'api-resources --api-group=apps -o wide',
    { run: 'api-resources --namespaced=false -o name --sort-by=name', without: /example\.com|muster\.test/ },
    { run: 'api-resources --verbs=list,get --categories=all --sort-by=name', without: /example\.com|muster\.test/ },
    'version',
    'cluster-info',
  ],

  auth: [
    'auth can-i create deployments -n NS',
    'auth can-i create deployments -n NS --as=jane',
    'auth can-i get pods/log -n NS --as=jane',
    'auth can-i get /healthz --as=jane',
    'auth can-i use nonesuch -n NS',
    'auth whoami',
    'auth whoami -o yaml --as=jane --as-group=g',
    'auth can-i --list -n NS --as=jane',
    'create role r -n NS --verb=get,list --resource=pods --dry-run=client -o yaml',
    'create role r -n NS --verb=get,list --resource=pods',
    'create rolebinding b -n NS --role=r --user=jane',
    'auth can-i list pods -n NS --as=jane',
    'auth can-i delete pods -n NS --as=jane',
    'get pods -n NS --as=jane',
    'delete pod x -n NS --as=jane',
    'get secrets -n NS --as=jane',
    {
      run: 'auth reconcile -n NS -f -',
      stdin:
        'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: NS}\nrules: [{apiGroups: [""], resources: [pods], verbs: [watch]}]',
    },
  ],

  diff: [
    apply(configMap('a: b')),
    { run: 'diff -n NS -f -', stdin: configMap('a: b') },
    { run: 'diff -n NS -f -', stdin: configMap('a: c') },
    { run: 'diff -n NS -f - --server-side', stdin: configMap('z: z') },
    { run: 'diff -n NS -f -', stdin: deployment },
  ],

  'custom kinds': [
    { run: 'create -f -', stdin: crd },
    'wait crd/gadgets.kID.example.com --for=condition=Established --timeout=10s',
    'get crd gadgets.kID.example.com',
    'api-resources --api-group=kID.example.com',
    apply(gadget),
    apply(gadget.replace('size: 3', 'size: 4')),
    apply(gadget.replace('size: 3', 'size: 0')),
    apply(gadget.replace('size: 3', 'size: 3, bogus: 1')),
    apply(gadget.replace('{size: 3}', '{}')),
    'get gadgets.kID.example.com -n NS',
    'get gadgets.kID.example.com -n NS -o wide',
    'get gadget.v1.kID.example.com first -n NS -o json --show-managed-fields',
    `patch gadgets.kID.example.com first -n NS --type=merge -p '{"spec":{"note":"n"}}'`,
    `patch gadgets.kID.example.com first -n NS -p '{"spec":{"note":"n"}}'`,
    `patch gadgets.kID.example.com first -n NS --subresource=status --type=merge -p '{"status":{"size":4}}'`,
    'scale gadgets.kID.example.com first -n NS --replicas=6',
    'explain gadgets.kID.example.com.spec',
    'describe gadgets.kID.example.com first -n NS',
    'label gadgets.kID.example.com first -n NS a=b',
    apply(gadget, '--server-side'),
    'delete gadgets.kID.example.com first -n NS',
    'delete crd gadgets.kID.example.com',
    'get gadgets.kID.example.com -n NS',
  ],

  events: [
    apply(pod),
    {
      run: 'create -n NS -f -',
      stdin:
        'apiVersion: v1\nkind: Event\nmetadata: {name: e}\ninvolvedObject: {kind: Pod, name: one, namespace: NS, apiVersion: v1}\nreason: Started\nmessage: it started\ntype: Normal\ncount: 2\nsource: {component: kubelet}\nfirstTimestamp: 2026-01-01T00:00:00Z\nlastTimestamp: 2026-01-01T00:00:00Z',
    },
    'get events -n NS',
    'events -n NS --for=pod/one',
    'describe pod one -n NS',
  ],
}
