package chaos

import (
	"fmt"
	"os"

	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
)

// Real is where a real Kafka and a real S3 are found. `.ci/with-servers` tells it.
type Real struct {
	KafkaLibs  string // folder of Kafka's jars
	S3Endpoint string
	S3Region   string
	S3Bucket   string
	AccessKey  string
	SecretKey  string
}

// RealFromEnvironment reads what .ci/with-servers sets.
func RealFromEnvironment() (*Real, error) {
	var r Real
	for name, field := range map[string]*string{
		"TAXIMETER_KAFKA_LIBS": &r.KafkaLibs, "TAXIMETER_S3_ENDPOINT": &r.S3Endpoint, "TAXIMETER_S3_REGION": &r.S3Region,
		"TAXIMETER_S3_BUCKET": &r.S3Bucket, "AWS_ACCESS_KEY_ID": &r.AccessKey, "AWS_SECRET_ACCESS_KEY": &r.SecretKey,
	} {
		if *field = os.Getenv(name); *field == "" {
			return nil, fmt.Errorf("%s is not set: run .ci/install once, and this under .ci/with-servers", name)
		}
	}
	return &r, nil
}

// objects is the store itself, past every proxy.
func (r *Real) objects(prefix string) (checkpoint.Store, error) {
	return objectstore.NewS3(objectstore.S3Config{Endpoint: r.S3Endpoint, Region: r.S3Region, Bucket: r.S3Bucket, Prefix: prefix, PathStyle: true,
		AccessKey: r.AccessKey, SecretKey: r.SecretKey})
}

// store configures a node's checkpoint store behind the proxy.
func (r *Real) store(endpoint, prefix string) map[string]string {
	return map[string]string{
		"STORE_S3_ENDPOINT": endpoint, "STORE_S3_REGION": r.S3Region, "STORE_S3_BUCKET": r.S3Bucket, "STORE_S3_PREFIX": prefix,
		"STORE_S3_PATH_STYLE": "true", "STORE_S3_ACCESS_KEY": r.AccessKey, "STORE_S3_SECRET_KEY": r.SecretKey,
	}
}
