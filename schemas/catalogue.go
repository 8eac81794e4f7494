package schemas

// Tariff is one version of the prices of a (region, category), in force for trips that
// start at or after ValidFrom until a newer version (Tarifa).
type Tariff struct {
	TariffID  string `json:"tarifaId"`
	Region    string `json:"regiao"`    // "*" = any
	Category  string `json:"categoria"` // "*" = any
	ValidFrom Millis `json:"vigenteDesde"`
	Currency  string `json:"moeda"`
	Base      Micros `json:"bandeirada"`
	PerKm     Micros `json:"precoKm"`
	PerMin    Micros `json:"precoMin"`
	Minimum   Micros `json:"minimo"`
	CancelFee Micros `json:"taxaCancelamento"`
	GraceS    int    `json:"carenciaS"` // seconds from match to cancellation that cost nothing
}

// Any is the wildcard of a tariff's region and category.
const Any = "*"

// Rule is one version of an alert rule (Regra).
type Rule struct {
	RuleID     string            `json:"regraId"`
	Version    int               `json:"versao"`
	Kind       string            `json:"tipo"`
	Active     bool              `json:"ativa"`
	ValidFrom  Millis            `json:"vigenteDesde"`
	Regions    []string          `json:"regioes"`    // nil = all
	Categories []string          `json:"categorias"` // nil = all
	Params     map[string]string `json:"parametros"`
}
