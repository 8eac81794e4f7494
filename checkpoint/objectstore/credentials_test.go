package objectstore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Without keys the machine's own are used: those of the environment, and a role that a token
// in a file stands for, as Kubernetes gives it to a pod.
func TestCredentialsOfTheMachine(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("who-i-am"), 0o600); err != nil {
		t.Fatal(err)
	}
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("WebIdentityToken") != "who-i-am" || r.FormValue("RoleArn") != "arn:aws:iam::1:role/meter" {
			http.Error(w, "who is that?", http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>of-the-role</AccessKeyId>`+
			`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>`+
			`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(issuer.Close)
	for name, c := range map[string]struct {
		env  map[string]string
		want string // the key that signs, or a part of the error
	}{
		"environment": {map[string]string{"AWS_ACCESS_KEY_ID": "of-the-environment", "AWS_SECRET_ACCESS_KEY": "s"}, "Credential=of-the-environment/"},
		"role": {map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::1:role/meter", "AWS_WEB_IDENTITY_TOKEN_FILE": token,
			"AWS_ENDPOINT_URL_STS": issuer.URL}, "Credential=of-the-role/"},
		"none": {nil, "no keys are configured, and the machine has none (environment, profile, role)"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
				t.Setenv(key, c.env[key])
			}
			t.Setenv("AWS_ENDPOINT_URL_STS", c.env["AWS_ENDPOINT_URL_STS"])
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
			t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
			signed := ""
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { signed = r.Header.Get("Authorization") }))
			t.Cleanup(server.Close)
			st, err := NewS3(S3Config{Endpoint: server.URL, Bucket: "b", PathStyle: true, Budget: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(st.Put(t.Context(), "k", strings.NewReader("content")))
			if !strings.Contains(signed+got, c.want) {
				t.Errorf("signed by %q, %s; want %q", signed, got, c.want)
			}
		})
	}
}
