/** The files of the folder `monitoring`: for a Grafana and a Prometheus that are not configured by Kubernetes objects. */
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { alertGroups } from './alerts.ts'
import { dashboard } from './dashboard.ts'

/** Path and text. */
export function monitoringFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['monitoring/alerts.yaml', writeYaml(alertGroups())],
    ['monitoring/dashboard.json', `${JSON.stringify(dashboard(), undefined, 2)}\n`],
  ])
}
