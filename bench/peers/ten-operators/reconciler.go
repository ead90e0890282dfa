package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	secretField = ".spec.secretName"
	image       = "registry.example.com/widget:1"
)

// reconciler maintains a ConfigMap and a Deployment for each Widget, computed from its spec, the Secret that it names
// and the Nodes.
type reconciler struct {
	client.Client
	scheme   *runtime.Scheme
	recorder events.EventRecorder
	// applies selects server-side apply instead of updates: see applying.go.
	applies bool
	// done receives each Widget that is reconciled.
	done func(types.NamespacedName)
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var secret corev1.Secret
	if err := r.Get(ctx, types.NamespacedName{Namespace: widget.Namespace, Name: widget.Spec.SecretName}, &secret); err != nil {
		return ctrl.Result{}, err
	}
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.keepConfigMap(ctx, &widget, &secret, len(nodes.Items)); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.keepDeployment(ctx, &widget)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, &widget, deployment, len(nodes.Items)); err != nil {
		return ctrl.Result{}, err
	}
	r.done(request.NamespacedName)
	return ctrl.Result{}, nil
}

func (r *reconciler) keepConfigMap(ctx context.Context, widget *Widget, secret *corev1.Secret, nodes int) error {
	token := sha256.Sum256(secret.Data["token"])
	data := map[string]string{
		"value": widget.Spec.Value,
		"token": hex.EncodeToString(token[:8]),
		"nodes": strconv.Itoa(nodes),
	}
	if r.applies {
		result, err := r.applyConfigMap(ctx, widget, data)
		r.tell(widget, result, "ConfigMap")
		return err
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: widget.Namespace, Name: widget.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = data
		return controllerutil.SetControllerReference(widget, config, r.scheme)
	})
	r.tell(widget, result, "ConfigMap")
	return err
}

func (r *reconciler) keepDeployment(ctx context.Context, widget *Widget) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: widget.Namespace, Name: widget.Name}}
	if r.applies {
		result, err := r.applyDeployment(ctx, widget, deployment)
		r.tell(widget, result, "Deployment")
		return deployment, err
	}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"widget": widget.Name}
		spec := &deployment.Spec
		spec.Replicas = &widget.Spec.Replicas
		spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		spec.Template.Labels = labels
		// Only desired fields are set: a whole container would discard server defaults on every run.
		if len(spec.Template.Spec.Containers) != 1 {
			spec.Template.Spec.Containers = make([]corev1.Container, 1)
		}
		container := &spec.Template.Spec.Containers[0]
		container.Name = "widget"
		container.Image = image
		container.EnvFrom = envFrom(widget)
		return controllerutil.SetControllerReference(widget, deployment, r.scheme)
	})
	r.tell(widget, result, "Deployment")
	return deployment, err
}

func envFrom(widget *Widget) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: widget.Name}}},
	}
}

func (r *reconciler) report(ctx context.Context, widget *Widget, deployment *appsv1.Deployment, nodes int) error {
	before := widget.DeepCopy()
	status := &widget.Status
	status.ObservedGeneration = widget.Generation
	status.Nodes = nodes
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: "Reconciled", Status: metav1.ConditionTrue, Reason: "Success", Message: "The cluster is as asked.",
		ObservedGeneration: widget.Generation,
	})
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", Message: "All of it is ready.",
		ObservedGeneration: widget.Generation,
	}
	if deployment.Status.AvailableReplicas < widget.Spec.Replicas {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "InProgress", "The Deployment is not available."
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	if equality.Semantic.DeepEqual(&before.Status, status) {
		return nil
	}
	return r.Status().Patch(ctx, widget, client.MergeFrom(before))
}

func (r *reconciler) tell(widget *Widget, result controllerutil.OperationResult, kind string) {
	if r.recorder == nil {
		return
	}
	switch result {
	case controllerutil.OperationResultCreated:
		r.recorder.Eventf(widget, nil, corev1.EventTypeNormal, "Created", "Reconcile", "Created %s %s", kind, widget.Name)
	case controllerutil.OperationResultUpdated:
		r.recorder.Eventf(widget, nil, corev1.EventTypeNormal, "Updated", "Reconcile", "Updated %s %s", kind, widget.Name)
	}
}

func (r *reconciler) setup(ctx context.Context, manager ctrl.Manager, workers int) error {
	secretOf := func(object client.Object) []string { return []string{object.(*Widget).Spec.SecretName} }
	if err := manager.GetFieldIndexer().IndexField(ctx, &Widget{}, secretField, secretOf); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).
		For(&Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.readersOf)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.all)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Named("widget").
		Complete(r)
}

// readersOf returns the Widgets that name a Secret.
func (r *reconciler) readersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(secret.GetNamespace()), client.MatchingFields{secretField: secret.GetName()})
}

func (r *reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.requests(ctx)
}

func (r *reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var widgets WidgetList
	if err := r.List(ctx, &widgets, options...); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, len(widgets.Items))
	for i := range widgets.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&widgets.Items[i])
	}
	return requests
}
