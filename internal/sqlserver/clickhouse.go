package sqlserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
)

type clickhouse struct{}

const clickhouseConfig = `<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host><tcp_port>%s</tcp_port><http_port>%s</http_port>
  <path>%s/</path><tmp_path>%s/</tmp_path><mark_cache_size>67108864</mark_cache_size>
  <users_config>%s</users_config><default_profile>default</default_profile><default_database>default</default_database>
</yandex>
`

const clickhouseUsers = `<yandex>
  <profiles><default></default></profiles><quotas><default></default></quotas>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
</yandex>
`

func (clickhouse) prepare(_ context.Context, s *Server) error {
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	_, http, err := net.SplitHostPort(s.HTTP)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(clickhouseConfig, port, http, s.file("data"), s.file("data/tmp"), s.file("users.xml"))
	if err := os.WriteFile(s.file("config.xml"), []byte(config), 0o600); err != nil {
		return err
	}
	return os.WriteFile(s.file("users.xml"), []byte(clickhouseUsers), 0o600)
}

func (clickhouse) command(s *Server) (*exec.Cmd, error) {
	program, err := exec.LookPath("clickhouse-server")
	if err != nil {
		return nil, fmt.Errorf("ClickHouse is not installed (package clickhouse-server): %w", err)
	}
	return exec.Command(program, "--config-file="+s.file("config.xml")), nil
}

func (clickhouse) url(address string) string { return "clickhouse://default@" + address + "/default" }
