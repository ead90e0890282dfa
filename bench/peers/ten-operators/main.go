// Command ten-operators is one of the operators that `npm run bench -- manager` runs beside Muster's: the one of the
// given kind. Its reconciler is in reconciler.go. All options of controller-runtime have their defaults, except those
// set by flags.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kind := flag.String("kind", "Widget00", "whose operator this is")
	expect := flag.Int("expect", 0, "how many Widgets there are: says so when each has been reconciled once")
	workers := flag.Int("workers", 1, "reconciles at once")
	applies := flag.Bool("apply", false, "write by server-side apply, not by updates")
	elect := flag.Bool("leader-elect", false, "hold a Lease")
	flag.Parse()
	// Neither side logs.
	log.SetLogger(logr.Discard())

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	register(scheme, *kind)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		// Fifty of them share a machine: each would use port 8080.
		Metrics:                       metricsserver.Options{BindAddress: "127.0.0.1:0"},
		LeaderElection:                *elect,
		LeaderElectionID:              "bench-" + strings.ToLower(*kind),
		LeaderElectionNamespace:       "bench",
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	r := &reconciler{
		Client:   manager.GetClient(),
		scheme:   scheme,
		recorder: manager.GetEventRecorder(*kind),
		applies:  *applies,
		done:     counter(*expect),
	}
	if err := r.setup(ctx, manager, *workers); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// counter prints one line when so many different Widgets have been reconciled.
func counter(expect int) func(types.NamespacedName) {
	var mutex sync.Mutex
	seen := map[types.NamespacedName]struct{}{}
	return func(name types.NamespacedName) {
		mutex.Lock()
		defer mutex.Unlock()
		if seen == nil {
			return
		}
		seen[name] = struct{}{}
		if len(seen) >= expect {
			fmt.Println(`{"reconciled":`, len(seen), `}`)
			seen = nil
		}
	}
}
