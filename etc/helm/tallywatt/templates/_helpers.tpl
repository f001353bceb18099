{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "tallywatt.image" -}}
{{ .root.Values.image.registry }}/tallywatt-{{ .name }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- /* What each pod has. */ -}}
{{- define "tallywatt.pod" -}}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The levels of Pod Security that the pods of servers and trainer meet: restricted. */ -}}
{{- define "tallywatt.restrictedPod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "tallywatt.restrictedContainer" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
