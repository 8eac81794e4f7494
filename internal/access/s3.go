package access

// S3 is a bucket with conditional puts (AWS, MinIO, versitygw, GCS's XML interface).
type S3 struct {
	Bucket    string `yaml:"bucket" env:"BUCKET"`
	Prefix    string `yaml:"prefix" env:"PREFIX"`     // put before every key
	Endpoint  string `yaml:"endpoint" env:"ENDPOINT"` // "" = AWS
	Region    string `yaml:"region" env:"REGION"`
	PathStyle bool   `yaml:"pathStyle" env:"PATH_STYLE"` // for servers without per-bucket host names
	// SSE asks for server-side encryption: "", "AES256" or "aws:kms". The lake leaves it to the
	// bucket's default.
	SSE string `yaml:"sse" env:"SSE"`
	// Credentials: both, or none for the machine's own (environment, profile, role).
	AccessKey string `yaml:"accessKey" env:"ACCESS_KEY"`
	SecretKey string `yaml:"secretKey" env:"SECRET_KEY"`
}
