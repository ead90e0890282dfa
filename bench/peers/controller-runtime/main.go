// Command controller-runtime-cache holds every Pod of a server in a controller-runtime cache and reports the cost.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	want, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.ContentType = "application/json"
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	options := cache.Options{Scheme: scheme.Scheme, Mapper: mapper}
	if len(os.Args) > 2 && os.Args[2] == "strip" {
		options.DefaultTransform = cache.TransformStripManagedFields()
	}
	pods, err := cache.New(config, options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()

	before := heap()
	beforeRss := rss()
	go func() { _ = pods.Start(ctx) }()
	if _, err := pods.GetInformer(ctx, &corev1.Pod{}); err != nil {
		return err
	}
	if !pods.WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache did not sync")
	}
	count := 0
	for ; count < want; time.Sleep(100 * time.Millisecond) {
		var list corev1.PodList
		if err := pods.List(ctx, &list); err != nil {
			return err
		}
		count = len(list.Items)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held":    float64(heap()-before) / float64(count),
		"rss":     float64(rss()-beforeRss) / float64(count),
		"objects": count,
	})
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func rss() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return pages * os.Getpagesize()
}
