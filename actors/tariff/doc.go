// Package tariff is the catalogue of prices: every version of every tariff, with the
// revision that brought it.
//
// It is pure. A revision is the offset of the record in corridas.tarifas (or the place
// in a tariff file), so "the catalogue as of revision r" stays answerable for ever: a
// bill fixes its revision with version 1 and later versions choose inside it.
//
// Start reading at Catalogue.Find.
package tariff
