{{- define "taximeter.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* What makes a pod one of ours; never changes in a release's life. */}}
{{- define "taximeter.selector" -}}
app.kubernetes.io/name: taximeter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "taximeter.labels" -}}
{{ include "taximeter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
