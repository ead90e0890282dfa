#!/bin/sh
# An operator in shell that implements the contract: where a ConfigMap "wish" exists it maintains a ConfigMap "answer".
# HOSTILE makes it misbehave, for tests.
set -eu

input_resources() {
  cat <<'YAML'
applyConfigurationResources:
  labelSelectedResources:
  - group: ""
    labelSelector:
      matchLabels:
        answer: wanted
    resource: configmaps
    version: v1
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: answer}
YAML
  # For tests: a kind that may not be served.
  [ "${READS:-}" != things ] || printf '  kindResources:\n  - {group: things.example.com, version: v1, resource: things}\n'
}

output_resources() {
  cat <<'YAML'
configurationResources:
  eventingNamespaces: [shop]
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: answer}
managementResources: {}
userWorkloadResources: {}
YAML
}

# mutation ACTION NAME BODY_FILE [OPTIONS_FILE]
mutation() {
  hash=$(sha256sum "$3" | cut -c61-64)
  place=$output/Configuration/$1/namespaces/shop/core/configmaps
  mkdir -p "$place"
  cp "$3" "$place/$hash-body-$2.yaml"
  [ $# -lt 4 ] || cp "$4" "$place/$hash-options-$2.yaml"
  cat >"$place/$hash-metadata-$2.yaml" <<YAML
action: $1
controllerInstanceName: shell-Answer
fieldManager: shell
generateName: ""
name: $2
namespace: shop
resourceType:
  Group: ""
  Resource: configmaps
  Version: v1
YAML
}

results() {
  mkdir -p "$output"
  printf 'controllerResults:\n- controllerName: shell-Answer\n  status: Succeeded\n' >"$output/controller-results.yaml"
}

# Reads a field of the only item of a list file: no more YAML than this operator needs.
field() { sed -n "s/^ *$2: *\"\\{0,1\\}\\([^\"]*\\)\"\\{0,1\\}\$/\\1/p" "$1" | head -n 1; }

apply_configuration() {
  while [ $# -gt 0 ]; do
    case $1 in
      --input-dir) input=$2 ;;
      --output-dir) output=$2 ;;
      --now) now=$2 ;;
    esac
    shift 2
  done
  case ${HOSTILE:-} in
    hang) sleep 1000 & wait ;;
    crash) exit 2 ;;
    silent) exit 0 ;;
  esac
  wish=$input/namespaces/shop/core/configmaps.yaml
  results
  [ -f "$wish" ] || exit 0
  size=$(field "$wish" size)
  [ "${HOSTILE:-}" != loop ] || size=$(date +%N)
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  body=$scratch/body options=$scratch/options
  cat >"$body" <<YAML
apiVersion: v1
data:
  for: ${WHO:-nobody}
  amount: "$size"
kind: ConfigMap
metadata:
  name: answer
  namespace: shop
YAML
  printf 'fieldManager: shell\nforce: true\n' >"$options"
  mutation Apply answer "$body" "$options"
  case ${HOSTILE:-} in
    trial)
      printf 'apiVersion: v1\nkind: DeleteOptions\n' >"$body.2"
      printf 'dryRun: [All]\n' >"$options.2"
      mutation Delete answer "$body.2" "$options.2"
      ;;
    link) ln -s /etc/passwd "$output/Configuration/link.yaml" ;;
    partial) sed -i 's/Succeeded/Failed\n  errors:\n  - message: half of it/' "$output/controller-results.yaml"; exit 1 ;;
    other) sed 's/answer/kube-root-ca.crt/' "$body" >"$body.2"; mutation Apply kube-root-ca.crt "$body.2" ;;
  esac
}

case ${1:-} in
  input-resources) input_resources ;;
  output-resources) output_resources ;;
  apply-configuration) shift; apply_configuration "$@" ;;
  apply-configuration-live) shift; WHO=${HTTPS_PROXY:-nobody}; apply_configuration "$@" ;;
  *) echo "error: unknown command ${1:-}" >&2; exit 1 ;;
esac
