// SPDX-License-Identifier: Apache-2.0

// Render prints objects of Kubernetes as a list in JSON:
//
//	render chart DIR NAMESPACE [NAME=YAML]...    those of a chart, with these values
//	render objects FILE                          those of a file in YAML
//
// The templates are Go's, with the functions of sprig, as in Helm, and Helm's own that our chart uses.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func readYAML(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	check(err)
	value := map[string]interface{}{}
	check(yaml.Unmarshal(text, &value))
	return value
}

// set gives a value that values.yaml has another one; a name that it has not is an error.
func set(values map[string]interface{}, name, text string) {
	parts := strings.Split(name, ".")
	for _, part := range parts[:len(parts)-1] {
		inner, ok := values[part].(map[string]interface{})
		if !ok {
			check(fmt.Errorf("%s: no such value", name))
		}
		values = inner
	}
	last := parts[len(parts)-1]
	if _, ok := values[last]; !ok {
		check(fmt.Errorf("%s: no such value", name))
	}
	var value interface{}
	check(yaml.Unmarshal([]byte(text), &value))
	values[last] = value
}

// objects are the documents of a text that are not empty.
func objects(text []byte) []interface{} {
	found := []interface{}{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var value interface{}
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return found
		}
		check(err)
		if value != nil {
			found = append(found, value)
		}
	}
}

func chart(dir, namespace string, settings []string) []interface{} {
	values, about := readYAML(filepath.Join(dir, "values.yaml")), readYAML(filepath.Join(dir, "Chart.yaml"))
	for _, setting := range settings {
		name, text, _ := strings.Cut(setting, "=")
		set(values, name, text)
	}
	top := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": "tallywatt", "Namespace": namespace},
		"Chart":   map[string]interface{}{"Name": about["name"], "AppVersion": about["appVersion"]},
	}
	all := template.New("chart")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(dir, "templates", "*"))
	check(err)
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		check(err)
	}
	found := []interface{}{}
	for _, file := range files {
		var out bytes.Buffer
		check(all.ExecuteTemplate(&out, filepath.Base(file), top))
		if strings.HasSuffix(file, ".yaml") {
			found = append(found, objects(out.Bytes())...)
		}
	}
	return found
}

func main() {
	var found []interface{}
	switch {
	case len(os.Args) >= 4 && os.Args[1] == "chart":
		found = chart(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) == 3 && os.Args[1] == "objects":
		text, err := os.ReadFile(os.Args[2])
		check(err)
		found = objects(text)
	default:
		fmt.Fprintln(os.Stderr, "usage: render chart DIR NAMESPACE [NAME=YAML]... | render objects FILE")
		os.Exit(2)
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}
