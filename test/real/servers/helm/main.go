// Command helm is the stock Helm, built from its module for Muster's tests.
package main

import (
	"errors"
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	kube.ManagedFieldsManager = "helm"
	root, err := cmd.NewRootCmd(os.Stdout, os.Args[1:], cmd.SetupLogging)
	if err == nil {
		err = root.Execute()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	var failed cmd.CommandError
	if errors.As(err, &failed) {
		os.Exit(failed.ExitCode)
	}
	if err != nil {
		os.Exit(1)
	}
}
