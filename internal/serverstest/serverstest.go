// Package serverstest gives tests the servers that .ci/with-servers has started or prepared. A test
// that lacks them fails and says how to get them: it was asked for by the build tag "integration".
//
// Only tests may import it.
package serverstest

import (
	"os"
	"sync"
	"syscall"
	"testing"

	"taximeter/internal/access"
	"taximeter/internal/kafkaserver"
)

// Setting is what .ci/with-servers says under a name, such as TAXIMETER_READERS.
func Setting(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run .ci/install once, and the tests by way of .ci/with-servers", name)
	}
	return value
}

// S3 is the bucket.
func S3(t testing.TB) access.S3 {
	t.Helper()
	return access.S3{Bucket: Setting(t, "TAXIMETER_S3_BUCKET"), Endpoint: Setting(t, "TAXIMETER_S3_ENDPOINT"), Region: Setting(t, "TAXIMETER_S3_REGION"),
		PathStyle: true, AccessKey: Setting(t, "AWS_ACCESS_KEY_ID"), SecretKey: Setting(t, "AWS_SECRET_ACCESS_KEY")}
}

// Kafka is a broker to prepare and start, with a folder that ends with the test.
func Kafka(t testing.TB) kafkaserver.Server {
	t.Helper()
	return kafkaserver.Server{JVM: kafkaserver.SmallJVM(), Libs: Setting(t, "TAXIMETER_KAFKA_LIBS"), Dir: t.TempDir()}
}

// Start starts a prepared broker, which is killed with the test at the latest. If the test has failed,
// it shows what the broker said last.
func Start(t testing.TB, s kafkaserver.Server) (kill func()) {
	t.Helper()
	said, err := os.OpenFile(s.File("kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close() // the process has its own
	broker := s.Broker()
	broker.Stdout, broker.Stderr = said, said
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = broker.Process.Signal(syscall.SIGKILL)
		_ = broker.Wait()
	})
	t.Cleanup(func() {
		kill()
		if text, err := os.ReadFile(said.Name()); err == nil && t.Failed() {
			t.Logf("Kafka said:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return kill
}
