// Command helm-engine renders templates with Helm's own engine: one request a line on standard input, one answer a line on
// standard output. Muster's engine is compared with it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
	"sync"
	"syscall"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
)

type request struct {
	// By path below the chart: templates/a.yaml.
	Templates map[string]string `json:"templates"`
	Files     map[string]string `json:"files"`
	Values    map[string]any    `json:"values"`
	Strict    bool              `json:"strict"`
}

type answer struct {
	Rendered map[string]string `json:"rendered,omitempty"`
	Error    string            `json:"error,omitempty"`
	// Helm has no budget for a template that does not end: this process ends instead, and the next one goes on.
	Unbounded bool `json:"unbounded,omitempty"`
}

const (
	mostSeconds = 10
	mostBytes   = 1 << 30
)

// integers replaces {"$int": "5"} and {"$int64": "5"} by integers, which JSON does not have.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if text, ok := value["$int64"].(string); ok && len(value) == 1 {
			number, _ := strconv.ParseInt(text, 10, 64)
			return number
		}
		if text, ok := value["$int"].(string); ok && len(value) == 1 {
			number, _ := strconv.Atoi(text)
			return number
		}
		for key, member := range value {
			value[key] = integers(member)
		}
	case []any:
		for index, item := range value {
			value[index] = integers(item)
		}
	}
	return value
}

func render(line []byte) (result answer) {
	defer func() {
		if problem := recover(); problem != nil {
			result = answer{Error: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: "request: " + err.Error()}
	}
	charted := &chart.Chart{Metadata: &chart.Metadata{Name: "c", Version: "1.2.3", APIVersion: "v2"}}
	for name, text := range asked.Templates {
		charted.Templates = append(charted.Templates, &common.File{Name: name, Data: []byte(text)})
	}
	for name, text := range asked.Files {
		charted.Files = append(charted.Files, &common.File{Name: name, Data: []byte(text)})
	}
	values, _ := integers(asked.Values).(map[string]any)
	rendered, err := engine.Engine{Strict: asked.Strict}.Render(charted, common.Values{
		"Values":       common.Values(values),
		"Release":      map[string]any{"Name": "r", "Namespace": "n", "Revision": 1, "IsInstall": true, "IsUpgrade": false, "Service": "Helm"},
		"Capabilities": common.DefaultCapabilities,
	})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Rendered: rendered}
}

// processorTime is what this process has used so far: other processes on the machine must not end a render.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func heapBytes() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// answers writes one answer for each request. A goroutine cannot be stopped from outside, so a render without end ends the process.
type answers struct {
	mutex   sync.Mutex
	writer  *bufio.Writer
	encoder *json.Encoder
	written int
}

func (a *answers) write(result answer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if err := a.encoder.Encode(result); err != nil {
		panic(err)
	}
	a.writer.Flush()
	a.written++
}

func (a *answers) watch() {
	last, since := -1, time.Duration(0)
	for range time.Tick(20 * time.Millisecond) {
		a.mutex.Lock()
		current := a.written
		a.mutex.Unlock()
		used := processorTime()
		if current != last {
			last, since = current, used
		}
		if used-since < mostSeconds*time.Second && heapBytes() < mostBytes {
			continue
		}
		a.mutex.Lock()
		if a.written != current {
			a.mutex.Unlock()
			continue
		}
		if err := a.encoder.Encode(answer{Unbounded: true}); err != nil {
			panic(err)
		}
		a.writer.Flush()
		os.Exit(0)
	}
}

func main() {
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	results := &answers{writer: bufio.NewWriter(os.Stdout)}
	results.encoder = json.NewEncoder(results.writer)
	results.encoder.SetEscapeHTML(false)
	go results.watch()
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			results.write(render(line))
		}
		if err != nil {
			return
		}
	}
}
