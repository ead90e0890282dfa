// Command helm-library renders a chart many times with Helm's library, in one warm process, and prints the milliseconds.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func files(folder string) map[string][]byte {
	found := map[string][]byte{}
	check(filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, folder+"/")] = data
		return err
	}))
	return found
}

func render(read map[string][]byte) int {
	var buffered []*archive.BufferedFile
	for name, data := range read {
		buffered = append(buffered, &archive.BufferedFile{Name: name, Data: data})
	}
	chart, err := loader.LoadFiles(buffered)
	check(err)
	values := map[string]any{}
	check(chartutil.ProcessDependencies(chart, values))
	options := common.ReleaseOptions{Name: "bench", Namespace: "default", Revision: 1, IsInstall: true}
	top, err := util.ToRenderValues(chart, values, options, nil)
	check(err)
	rendered, err := engine.Render(chart, top)
	check(err)
	_, manifests, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	check(err)
	return len(manifests)
}

func main() {
	folder := flag.String("chart", "", "folder of the chart")
	count := flag.Int("count", 100, "how many renders")
	warm := flag.Int("warm", 10, "renders before the clock starts")
	flag.Parse()
	read := files(*folder)
	manifests := 0
	for range *warm {
		manifests = render(read)
	}
	started := time.Now()
	for range *count {
		manifests = render(read)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ms":        float64(time.Since(started).Microseconds()) / 1000,
		"manifests": manifests,
	}))
}
