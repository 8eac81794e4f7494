package main

import (
	"github.com/spf13/cobra"

	"taximeter/schemas"
)

func newCatalogue() *cobra.Command {
	return group(&cobra.Command{Use: "catalogue", Short: "Show and publish the tariffs and alert rules in Kafka"}, newCatalogueShow(), newCataloguePublish())
}

// catalogueTopics are where tariffs and rules live.
var catalogueTopics = []string{schemas.TopicTariffs, schemas.TopicRules}
