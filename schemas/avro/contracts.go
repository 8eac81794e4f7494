package avro

import (
	_ "embed"

	"taximeter/schemas"
)

// The contracts' texts.
var (
	//go:embed telemetria.avsc
	Telemetria string
	//go:embed evento_corrida.avsc
	EventoCorrida string
	//go:embed evento_pagamento.avsc
	EventoPagamento string
	//go:embed alerta.avsc
	Alerta string
	//go:embed agregado_janela.avsc
	AgregadoJanela string
	//go:embed regra.avsc
	Regra string
	//go:embed tarifa.avsc
	Tarifa string
)

// Contract is the Avro record of one topic's values.
type Contract struct {
	Topic  string
	Schema string // Avro JSON
}

// Subject is the registry's name for the contract.
func (c Contract) Subject() string { return Subject(c.Topic) }

// Subject is the registry's name for the values of a topic.
func Subject(topic string) string { return topic + "-value" }

// Contracts lists the contract of every topic whose values are Avro, inputs first.
func Contracts() []Contract {
	return []Contract{
		{schemas.TopicTelemetry, Telemetria},
		{schemas.TopicRides, EventoCorrida},
		{schemas.TopicPayments, EventoPagamento},
		{schemas.TopicAlerts, Alerta},
		{schemas.TopicWindows, AgregadoJanela},
		{schemas.TopicRules, Regra},
		{schemas.TopicTariffs, Tarifa},
	}
}

// Of finds the contract of a topic.
func Of(topic string) (Contract, bool) {
	for _, c := range Contracts() {
		if c.Topic == topic {
			return c, true
		}
	}
	return Contract{}, false
}
