package main

import (
	"context"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const fieldOwner = client.FieldOwner("widgets")

// applyConfigMap maintains the ConfigMap by server-side apply, as Muster's operators do, and compares before it writes.
func (r *reconciler) applyConfigMap(ctx context.Context, widget *Widget, data map[string]string) (controllerutil.OperationResult, error) {
	var found corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKeyFromObject(widget), &found)
	if client.IgnoreNotFound(err) != nil {
		return controllerutil.OperationResultNone, err
	}
	if err == nil && metav1.IsControlledBy(&found, widget) && maps.Equal(found.Data, data) {
		return controllerutil.OperationResultNone, nil
	}
	wanted := corev1ac.ConfigMap(widget.Name, widget.Namespace).WithOwnerReferences(r.ownerReference(widget)).WithData(data)
	return resultOf(err), r.Apply(ctx, wanted, fieldOwner, client.ForceOwnership)
}

// applyDeployment does the same for the Deployment.
func (r *reconciler) applyDeployment(ctx context.Context, widget *Widget, found *appsv1.Deployment) (controllerutil.OperationResult, error) {
	err := r.Get(ctx, client.ObjectKeyFromObject(widget), found)
	if client.IgnoreNotFound(err) != nil {
		return controllerutil.OperationResultNone, err
	}
	labels := map[string]string{"widget": widget.Name}
	if err == nil && metav1.IsControlledBy(found, widget) && isAsWanted(&found.Spec, widget, labels) {
		return controllerutil.OperationResultNone, nil
	}
	config := corev1ac.EnvFromSource().WithConfigMapRef(corev1ac.ConfigMapEnvSource().WithName(widget.Name))
	container := corev1ac.Container().WithName("widget").WithImage(image).WithEnvFrom(config)
	template := corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().WithContainers(container))
	spec := appsv1ac.DeploymentSpec().
		WithReplicas(widget.Spec.Replicas).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(template)
	wanted := appsv1ac.Deployment(widget.Name, widget.Namespace).WithOwnerReferences(r.ownerReference(widget)).WithSpec(spec)
	return resultOf(err), r.Apply(ctx, wanted, fieldOwner, client.ForceOwnership)
}

func isAsWanted(spec *appsv1.DeploymentSpec, widget *Widget, labels map[string]string) bool {
	if spec.Replicas == nil || *spec.Replicas != widget.Spec.Replicas || len(spec.Template.Spec.Containers) != 1 {
		return false
	}
	container := &spec.Template.Spec.Containers[0]
	return maps.Equal(spec.Selector.MatchLabels, labels) && maps.Equal(spec.Template.Labels, labels) &&
		container.Name == "widget" && container.Image == image && reflect.DeepEqual(container.EnvFrom, envFrom(widget))
}

func (r *reconciler) ownerReference(widget *Widget) *metav1ac.OwnerReferenceApplyConfiguration {
	kind := widget.GroupVersionKind()
	if kind.Empty() {
		kind, _ = r.GroupVersionKindFor(widget)
	}
	return metav1ac.OwnerReference().
		WithAPIVersion(kind.GroupVersion().String()).
		WithKind(kind.Kind).
		WithName(widget.Name).
		WithUID(widget.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

func resultOf(missing error) controllerutil.OperationResult {
	if missing != nil {
		return controllerutil.OperationResultCreated
	}
	return controllerutil.OperationResultUpdated
}
