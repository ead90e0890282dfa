/** Validation of volumes of a pod: each has a unique name and exactly one source. */
import type {
  DownwardAPIVolumeFile,
  HostPathVolumeSource,
  ISCSIVolumeSource,
  KeyToPath,
  ProjectedVolumeSource,
  Volume,
  VolumeProjection,
} from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkPodCertificate, checkTrustBundle } from './credential-projection.ts'
import { checkClaimTemplate } from './claim-validation.ts'
import { checkFieldRef, checkResourceRef, filePaths } from '../container/environment-validation.ts'
import { dnsLabel, dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  noErrors,
  forbiddenField,
  invalidField,
  unsupportedField,
  type Problems,
  requiredField,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import {
  checkLocalDescendingPath,
  checkId,
  checkMode,
  checkNoBackSteps,
  checkLocalNonReservedPath,
  isNegative,
} from '../values/value-validation.ts'

type Source = Exclude<keyof Volume, 'name'>
type SourceCheck<Name extends Source> = (source: NonNullable<Volume[Name]>, field: string) => Iterable<Cause>

/** In the order of the real server: the first source counts, each further one is an error. */
const sources: { readonly [Name in Source]: SourceCheck<Name> } = {
  *emptyDir({ sizeLimit }, field) {
    if (sizeLimit !== undefined && isNegative(String(sizeLimit))) {
      yield forbiddenField(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')
    }
  },
  hostPath: checkHostPath,
  *gitRepo({ repository, directory = '' }, field) {
    if (!repository) yield requiredField(`${field}.repository`)
    yield* checkLocalDescendingPath(directory, `${field}.directory`)
  },
  *gcePersistentDisk({ pdName, partition = 0 }, field) {
    const at = field.replace(/gcePersistentDisk$/, 'persistentDisk')
    if (!pdName) yield requiredField(`${at}.pdName`)
    yield* checkPartition(partition, at)
  },
  *awsElasticBlockStore({ volumeID, partition = 0 }, field) {
    if (!volumeID) yield requiredField(`${field}.volumeID`)
    yield* checkPartition(partition, field)
  },
  *secret({ secretName, defaultMode, defaultUser, items }, field) {
    if (!secretName) yield requiredField(`${field}.secretName`)
    yield* checkFiles({ defaultMode, defaultUser, items }, field)
  },
  *nfs({ server, path }, field) {
    if (!server) yield requiredField(`${field}.server`)
    if (!path) yield requiredField(`${field}.path`)
    if (!path.startsWith('/')) yield invalidField(`${field}.path`, path, 'must be an absolute path')
  },
  iscsi: checkIscsi,
  glusterfs: needs('endpoints', 'path'),
  *flocker({ datasetName = '', datasetUUID = '' }, field) {
    if (!datasetName && !datasetUUID) yield requiredField(field, 'one of datasetName and datasetUUID is required')
    if (datasetName && datasetUUID)
      yield invalidField(field, 'resource', 'datasetName and datasetUUID can not be specified simultaneously')
    if (datasetName.includes('/')) yield invalidField(`${field}.datasetName`, datasetName, "must not contain '/'")
  },
  persistentVolumeClaim: needs('claimName'),
  *rbd({ monitors, image }, field) {
    if ((monitors ?? []).length === 0) yield requiredField(`${field}.monitors`)
    if (!image) yield requiredField(`${field}.image`)
  },
  *cinder({ volumeID, secretRef }, field) {
    if (!volumeID) yield requiredField(`${field}.volumeID`)
    if (secretRef && !secretRef.name) yield requiredField(`${field}.secretRef.name`)
  },
  *cephfs({ monitors }, field) {
    if ((monitors ?? []).length === 0) yield requiredField(`${field}.monitors`)
  },
  *quobyte({ registry, volume }, field) {
    if (!registry) {
      yield requiredField(`${field}.registry`, 'must be a host:port pair or multiple pairs separated by commas')
    }
    if (!volume) yield requiredField(`${field}.volume`)
  },
  *downwardAPI({ defaultMode, defaultUser, items = [] }, field) {
    yield* checkFiles({ defaultMode, defaultUser }, field)
    for (const item of items) yield* checkFieldFile(item, field)
  },
  *fc({ targetWWNs = [], wwids = [], lun }, field) {
    if (targetWWNs.length === 0 && wwids.length === 0) {
      yield requiredField(`${field}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both')
    }
    if (targetWWNs.length > 0 && wwids.length > 0) {
      yield invalidField(`${field}.targetWWNs`, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously')
    }
    if (targetWWNs.length > 0 && lun === undefined) {
      yield requiredField(`${field}.lun`, 'lun is required if targetWWNs is specified')
    }
  },
  flexVolume: needs('driver'),
  *configMap({ name, defaultMode, defaultUser, items }, field) {
    if (!name) yield requiredField(`${field}.name`)
    yield* checkFiles({ defaultMode, defaultUser, items }, field)
  },
  azureFile: needs('secretName', 'shareName'),
  vsphereVolume: needs('volumePath'),
  photonPersistentDisk: needs('pdID'),
  portworxVolume: needs('volumeID'),
  azureDisk: needs('diskName', 'diskURI'),
  storageos: needs('volumeName'),
  *projected(projected, field) {
    yield* checkFiles(projected, field)
    yield* checkProjections(projected, field)
  },
  scaleIO: needs('gateway', 'system', 'volumeName'),
  *csi({ driver, nodePublishSecretRef }, field) {
    yield* checkDriver(driver, `${field}.driver`)
    if (!nodePublishSecretRef) return
    const { name } = nodePublishSecretRef
    yield* name
      ? eachInvalid(`${field}.name`, name, dnsSubdomain(name))
      : [requiredField(`${field}.nodePublishSecretRef.name`)]
  },
  *ephemeral({ volumeClaimTemplate }, field) {
    if (volumeClaimTemplate) yield* checkClaimTemplate(volumeClaimTemplate, `${field}.volumeClaimTemplate`)
    else yield requiredField(`${field}.volumeClaimTemplate`)
  },
  *image({ reference, pullPolicy }, field) {
    if (!reference) yield requiredField(`${field}.reference`)
    yield* unsupportedField(`${field}.pullPolicy`, pullPolicy, ['Always', 'IfNotPresent', 'Never'])
  },
}

/** Names that the server prints differently in errors about a second source. */
const misspelt: ReadonlyMap<string, string> = new Map([
  ['cephfs', 'cephFS'],
  ['downwardAPI', 'downwarAPI'],
])

interface CheckedVolumes {
  /** Volumes without errors, which can be mounted. */
  readonly volumes: ReadonlyMap<string, Volume>
  readonly problems: readonly Cause[]
}

/** `podName` is known for a pod, not for a template. */
export function checkVolumes(list: readonly Volume[], field: string, podName = ''): CheckedVolumes {
  const volumes = new Map<string, Volume>()
  const problems: Cause[] = []
  const created = new Set(list.filter(({ ephemeral }) => ephemeral).map(({ name }) => `${podName}-${name}`))
  for (const [index, volume] of list.entries()) {
    const at = `${field}[${index}]`
    const own = [...checkVolume(volume, at, podName)]
    if (volumes.has(volume.name)) own.push(duplicate(`${at}.name`, volume.name))
    if (own.length === 0) volumes.set(volume.name, volume)
    for (const problem of own) problems.push(problem)
    const claimName = volume.persistentVolumeClaim?.claimName
    if (podName !== '' && claimName !== undefined && created.has(claimName)) {
      const why = 'must not reference a PVC that gets created for an ephemeral volume'
      problems.push(invalidField(`${at}.persistentVolumeClaim.claimName`, claimName, why))
    }
  }
  return { volumes, problems }
}

function* checkVolume(volume: Volume, field: string, podName: string): Iterable<Cause> {
  const { name } = volume
  let count = 0
  for (const [source, check] of Object.entries(sources) as [Source, SourceCheck<Source>][]) {
    const given = volume[source]
    if (given === undefined) continue
    count++
    if (count > 1)
      yield forbiddenField(`${field}.${misspelt.get(source) ?? source}`, 'may not specify more than 1 volume type')
    else {
      yield* check(given, `${field}.${source}`)
      if (source === 'ephemeral' && podName && name) {
        const claim = `${podName}-${name}`
        for (const why of dnsSubdomain(claim)) yield invalidField(`${field}.name`, name, `PVC name "${claim}": ${why}`)
      }
    }
  }
  if (count === 0) yield requiredField(field, 'must specify a volume type')
  yield* name ? eachInvalid(`${field}.name`, name, dnsLabel(name)) : [requiredField(`${field}.name`)]
}

/** Validates only that some members are set. */
function needs<Member extends string>(...members: readonly Member[]) {
  return function* (source: { readonly [Name in Member]?: unknown }, field: string): Iterable<Cause> {
    for (const member of members) if (!source[member]) yield requiredField(`${field}.${member}`)
  }
}

function checkPartition(partition: number, field: string): Problems {
  const isPartition = partition >= 0 && partition <= 255
  return isPartition
    ? noErrors
    : [invalidField(`${field}.partition`, partition, 'must be between 0 and 255, inclusive')]
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

function* checkHostPath({ path, type = '' }: HostPathVolumeSource, field: string): Iterable<Cause> {
  if (!path) {
    yield requiredField(`${field}.path`)
    return
  }
  yield* checkNoBackSteps(path, `${field}.path`)
  if (!hostPathTypes.includes(type)) yield unsupported(`${field}.type`, type, hostPathTypes)
}

function* checkIscsi({ targetPortal, iqn, lun }: ISCSIVolumeSource, field: string): Iterable<Cause> {
  if (!targetPortal) yield requiredField(`${field}.targetPortal`)
  if (!iqn) yield requiredField(`${field}.iqn`)
  else if (!/^(?:iqn|eui|naa)/.test(iqn)) {
    yield invalidField(`${field}.iqn`, iqn, 'must be valid format starting with iqn, eui, or naa')
  }
  if (lun < 0 || lun > 255) yield invalidField(`${field}.lun`, lun, 'must be between 0 and 255, inclusive')
}

interface Files {
  readonly defaultMode?: number | undefined
  readonly defaultUser?: number | undefined
  readonly items?: readonly KeyToPath[] | undefined
}

function* checkFiles({ defaultMode, defaultUser, items = [] }: Files, field: string): Iterable<Cause> {
  yield* checkMode(defaultMode, `${field}.defaultMode`)
  yield* checkId(defaultUser, `${field}.defaultUser`)
  for (const [index, item] of items.entries()) yield* checkItem(item, `${field}.items[${index}]`)
}

function* checkItem({ key, path, mode, user }: KeyToPath, field: string): Iterable<Cause> {
  if (!key) yield requiredField(`${field}.key`)
  if (!path) yield requiredField(`${field}.path`)
  yield* checkLocalNonReservedPath(path, `${field}.path`)
  yield* checkMode(mode, `${field}.mode`)
  yield* checkId(user, `${field}.user`)
}

function* checkFieldFile(file: DownwardAPIVolumeFile, field: string): Iterable<Cause> {
  const { path, fieldRef, resourceFieldRef, mode, user } = file
  if (!path) yield requiredField(`${field}.path`)
  yield* checkLocalNonReservedPath(path, `${field}.path`)
  if (fieldRef) {
    yield* checkFieldRef(fieldRef, filePaths, `${field}.fieldRef`)
    if (resourceFieldRef) {
      yield invalidField(field, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously')
    }
  } else if (resourceFieldRef) yield* checkResourceRef(resourceFieldRef, `${field}.resourceFieldRef`, { inFile: true })
  else yield requiredField(field, 'one of fieldRef and resourceFieldRef is required')
  yield* checkMode(mode, `${field}.mode`)
  yield* checkId(user, `${field}.user`)
}

function* checkProjections({ sources: list }: ProjectedVolumeSource, field: string): Iterable<Cause> {
  const paths = new Set<string>()
  const conflict = (path: string, shown: string): Problems => {
    if (path === '') return noErrors
    if (paths.has(path)) return [invalidField(field, shown, 'conflicting duplicate paths')]
    paths.add(path)
    return noErrors
  }
  for (const [index, source] of (list ?? []).entries()) {
    const at = `${field}.sources[${index}]`
    for (const kind of ['secret', 'configMap'] as const) {
      const own = source[kind]
      if (!own) continue
      if (!own.name) yield requiredField(`${at}.${kind}.name`)
      for (const [place, item] of (own.items ?? []).entries()) {
        yield* checkItem(item, `${at}.${kind}.items[${place}]`)
        yield* conflict(item.path, own.name ?? '')
      }
    }
    for (const file of source.downwardAPI?.items ?? []) {
      yield* checkFieldFile(file, `${at}.downwardAPI`)
      yield* conflict(file.path, file.path)
    }
    if (source.serviceAccountToken) yield* checkToken(source.serviceAccountToken, field, `${at}.serviceAccountToken`)
    const { clusterTrustBundle, podCertificate } = source
    if (clusterTrustBundle) yield* checkTrustBundle(clusterTrustBundle, `${at}.clusterTrustBundle`, conflict)
    if (podCertificate) yield* checkPodCertificate(podCertificate, `${at}.podCertificate`, conflict)
    if (Object.keys(source).length > 1) yield forbiddenField(at, 'may not specify more than 1 volume type per source')
  }
}

/** Ten minutes, in seconds. */
const shortestToken = 600
const longestToken = 2 ** 32

function* checkToken(
  { expirationSeconds, path, user }: NonNullable<VolumeProjection['serviceAccountToken']>,
  field: string,
  at: string,
): Iterable<Cause> {
  const expiry = `${at}.expirationSeconds`
  if (expirationSeconds === undefined) yield requiredField(expiry)
  else if (expirationSeconds < shortestToken) {
    yield invalidField(expiry, expirationSeconds, 'may not specify a duration less than 10 minutes')
  } else if (expirationSeconds > longestToken) {
    yield invalidField(expiry, expirationSeconds, 'may not specify a duration larger than 2^32 seconds')
  }
  yield* path ? checkLocalNonReservedPath(path, `${field}.path`) : [requiredField(`${field}.path`)]
  yield* checkId(user, `${at}.user`)
}

function checkDriver(driver: string, field: string): Problems {
  if (!driver) return [requiredField(field)]
  return [
    ...(driver.length > 63 ? [tooLong(field, 63)] : noErrors),
    ...eachInvalid(field, driver, dnsSubdomain(driver.toLowerCase())),
  ]
}
