// Builds kustomizations with kustomize's own library, one request a line.
//
// A request is a JSON object on standard input: the files by path, the folder to build, and whether the order of the files is
// kept. The answer is a line on standard output: the text that `kustomize build` prints, or the error.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

type request struct {
	// Files maps paths to contents, which JSON encodes as base64.
	Files  map[string][]byte `json:"files"`
	Folder string            `json:"folder"`
	// Unsorted keeps the order of the files.
	Unsorted bool `json:"unsorted"`
}

type answer struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

func main() {
	log.SetOutput(io.Discard)
	os.Stderr, _ = os.Open(os.DevNull)
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	encoder := json.NewEncoder(os.Stdout)
	for {
		var r request
		if decoder.Decode(&r) != nil {
			return
		}
		text, err := build(r)
		a := answer{Text: text}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if encoder.Encode(a) != nil {
			return
		}
	}
}

// ownSchema says whether the latest request may have set another schema.
var ownSchema bool

func build(r request) (text string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	// The schema is global: a document of an earlier request must not count. To read the built-in one anew takes longest.
	if ownSchema {
		openapi.ResetOpenAPI()
	}
	ownSchema = false
	files := filesys.MakeFsInMemory()
	for name, content := range r.Files {
		ownSchema = ownSchema || bytes.Contains(content, []byte("openapi"))
		if err := files.WriteFile(path.Join("/", name), content); err != nil {
			return "", err
		}
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	if r.Unsorted {
		options.Reorder = krusty.ReorderOptionNone
	}
	objects, err := krusty.MakeKustomizer(options).Run(files, path.Join("/", r.Folder))
	if err != nil {
		return "", err
	}
	out, err := objects.AsYaml()
	return string(out), err
}
