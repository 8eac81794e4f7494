package chaos

import "path/filepath"

// Real is a real Kafka and a real S3.
type Real struct {
	KafkaLibs  string // folder of Kafka's jars
	S3Endpoint string
	S3Region   string
	S3Bucket   string
	AccessKey  string
	SecretKey  string
}

// broker is the broker of a run.
func (o *Options) broker(dir string) (broker, error) {
	return &fake{dir: filepath.Join(dir, "kafka")}, nil
}
