#!/bin/sh
# Creates the topics of the contract with the settings that taximeter relies on. A topic that
# exists is left as it is; a node checks at its start what matters for exactness.
#
#   BROKERS=kafka-1:9092 deploy/topics.sh
#
#   BROKERS       host:port of some brokers                        127.0.0.1:9092
#   PARTITIONS    of all topics that have one partition per task   24
#   REPLICAS      replication factor                               3
#   KAFKA_TOPICS  Kafka's own tool                                 kafka-topics.sh
#   CLIENT        its properties file, for TLS and SASL            none
#
# PARTITIONS cannot be changed later: trips would change partition.
set -eu

BROKERS=${BROKERS:-127.0.0.1:9092}
PARTITIONS=${PARTITIONS:-24}
REPLICAS=${REPLICAS:-3}
KAFKA_TOPICS=${KAFKA_TOPICS:-kafka-topics.sh}

# With three copies a write is acknowledged once two hold it: one broker may be lost, and
# another be down, before a bill is.
if [ "$REPLICAS" -ge 3 ]; then insync=2; else insync=1; fi

days() { echo $(($1 * 24 * 60 * 60 * 1000)); } # in milliseconds

topic() { # topic NAME PARTITIONS SETTING...; settings hold no blanks
  name=$1 partitions=$2 configs=
  shift 2
  for setting in "$@" "min.insync.replicas=$insync"; do
    configs="$configs --config $setting"
  done
  # shellcheck disable=SC2086
  "$KAFKA_TOPICS" --bootstrap-server "$BROKERS" ${CLIENT:+--command-config "$CLIENT"} --create --if-not-exists \
    --topic "$name" --partitions "$partitions" --replication-factor "$REPLICAS" $configs
}

# The three inputs: one partition count, and the broker's clock in the records. The retention
# must exceed the longest outage of taximeter.
for input in corridas.telemetria corridas.eventos pagamentos.eventos; do
  topic "$input" "$PARTITIONS" cleanup.policy=delete "retention.ms=$(days 7)" message.timestamp.type=LogAppendTime
done

topic corridas.alertas "$PARTITIONS" cleanup.policy=delete "retention.ms=$(days 7)"
topic corridas.agregados "$PARTITIONS" cleanup.policy=delete "retention.ms=$(days 7)"
topic corridas.dlq "$PARTITIONS" cleanup.policy=delete "retention.ms=$(days 30)"
topic corridas.alertas.nao_entregues 1 cleanup.policy=delete "retention.ms=$(days 30)"

topic corridas.regras 1 cleanup.policy=compact
topic corridas.tarifas 1 cleanup.policy=compact

# What is public: never change the cleanup policy of these two. A node would create them
# itself; here they get the same settings. A reader goes through all that compaction left of
# the first one, so it is compacted soon and often.
topic _taximeter.commits "$PARTITIONS" cleanup.policy=compact segment.ms=3600000 min.cleanable.dirty.ratio=0.01
topic _taximeter.alert-markers "$PARTITIONS" cleanup.policy=delete "retention.ms=$(days 7)"

# What `taximeter dlq requeue` has sent again: kept longer than the dead letters themselves.
topic _taximeter.requeues 1 cleanup.policy=delete "retention.ms=$(days 45)"
