// Command envtest starts and stops a test control plane with controller-runtime's envtest, and prints how long that took. The
// binaries are those of KUBEBUILDER_ASSETS.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func main() {
	environment := &envtest.Environment{}
	began := time.Now()
	_, err := environment.Start()
	ready := time.Since(began)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	began = time.Now()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"readyMs": float64(ready.Microseconds()) / 1000,
		"stopMs":  float64(time.Since(began).Microseconds()) / 1000,
	})
}
