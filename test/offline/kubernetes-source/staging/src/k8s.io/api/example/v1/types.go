package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Widget is served.
type Widget struct {
	metav1.TypeMeta `json:",inline"`
	// What it is to be.
	Spec WidgetSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// WidgetForgotten is reached from nowhere.
type WidgetForgotten struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// WidgetNames is a list with a name.
type WidgetNames []string

type WidgetPart struct {
	Name        string `json:"name" protobuf:"bytes,1,opt,name=name"`
	WidgetPlace `json:"" protobuf:"bytes,3,opt,name=place"`
	Turned      *bool `json:"turned,omitempty" protobuf:"varint,4,opt,name=turned"`
}

type WidgetPlace struct{}

type WidgetSpec struct {
	Seconds int64                  `json:"seconds,omitempty" protobuf:"varint,2,opt,name=seconds"`
	Parts   []WidgetPart           `json:"parts,omitempty" protobuf:"bytes,1,rep,name=parts"`
	Colors  map[string]string      `json:"colors,omitempty" protobuf:"bytes,3,rep,name=colors"`
	Names   map[string]WidgetNames `json:"names,omitempty" protobuf:"bytes,4,rep,name=names"`
}
