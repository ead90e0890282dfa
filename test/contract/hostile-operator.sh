#!/bin/sh
# The shell operator with hostile output: besides its normal output it writes what HOSTILE, or the size of the request,
# selects. Nothing of such an output may be applied, not even its valid part.
set -eu
"${OPERATOR:-$(dirname "$0")/shell-operator.sh}" "$@"
[ "$1" = apply-configuration ] || exit 0
shift
while [ $# -gt 0 ]; do
  case $1 in
    --input-dir) wish=$2/namespaces/shop/core/configmaps.yaml ;;
    --output-dir) output=$2 ;;
  esac
  shift 2
done
how=${HOSTILE:-$(sed -n 's/^ *size: *//p' "$wish" | head -n 1)}
configuration=$output/Configuration
place=$configuration/Apply/namespaces/shop/core/configmaps
bad=$place/bad

# metadata [NAME [NAMESPACE [MORE]]]
metadata() {
  mkdir -p "$place"
  cat >"$bad-metadata-x.yaml" <<YAML
action: Apply
controllerInstanceName: shell-Answer
name: ${1:-answer}
namespace: ${2:-shop}
resourceType: {Group: "", Resource: configmaps, Version: v1}
${3:-}
YAML
}

# body [NAME [NAMESPACE [KIND [API_VERSION]]]]
body() {
  mkdir -p "$place"
  cat >"$bad-body-x.yaml" <<YAML
apiVersion: ${4:-v1}
kind: ${3:-ConfigMap}
metadata: {name: ${1:-answer}, namespace: ${2:-shop}}
data: {hostile: "$how"}
YAML
}

# Nine times nine times nine …: a few lines that expand beyond memory.
bomb() {
  echo 'a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]'
  last=a
  for next in b c d e f g h i j; do
    echo "$next: &$next [*$last, *$last, *$last, *$last, *$last, *$last, *$last, *$last, *$last]"
    last=$next
  done
}

# Few values of a megabyte each.
long_bomb() {
  printf 'text: &text "%01000000d"\nerrors: [' 0
  for _ in 1 2 3 4 5 6 7 8 9 10; do printf '*text, *text, *text, *text, *text, *text, *text, *text, *text, *text, '; done
  echo ']'
}

case $how in
  escaping-name) metadata ../../../secrets/other; body ;;
  absolute-name) metadata /etc/passwd; body ;;
  escaping-namespace) metadata answer ../kube-system; body ;;
  escaping-subresource) metadata answer shop 'subresource: ../../secrets/other'; body ;;
  escaping-order) printf 'order: [{file: ../../outside.yaml, sequence: 1}]\n' >"$configuration/order.yaml" ;;
  link) ln -s /etc/passwd "$configuration/link.yaml" ;;
  bomb-in-body) metadata; bomb >"$bad-body-x.yaml" ;;
  bomb-in-metadata) metadata; body; bomb >>"$bad-metadata-x.yaml" ;;
  bomb-in-options) metadata; body; bomb >"$bad-options-x.yaml" ;;
  bomb-in-order) bomb >"$configuration/order.yaml" ;;
  bomb-in-results) bomb >>"$output/controller-results.yaml" ;;
  long-bomb-in-body) metadata; body; long_bomb >>"$bad-body-x.yaml" ;;
  long-bomb-in-results) long_bomb >>"$output/controller-results.yaml" ;;
  large-body) metadata; truncate -s 200M "$bad-body-x.yaml" ;;
  gigabyte-body) metadata; truncate -s 1G "$bad-body-x.yaml" ;;
  other-kind) metadata; body answer shop Secret ;;
  other-group) metadata; body answer shop Deployment apps/v1 ;;
  other-name) metadata kube-root-ca.crt; body kube-root-ca.crt ;;
  other-namespace) place=$configuration/Apply/namespaces/kube-system/core/configmaps bad=$place/bad
    metadata answer kube-system; body answer kube-system ;;
  other-in-body) metadata; body kube-root-ca.crt ;;
  other-manager) metadata answer shop 'fieldManager: neighbour'; body ;;
  # Not an attack: the program itself lists the write as undeclared.
  unspecified) mkdir -p "$output/Unspecified"; cp -R "$configuration/Apply" "$output/Unspecified" ;;
esac
