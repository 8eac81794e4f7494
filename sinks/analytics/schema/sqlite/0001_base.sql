-- Instants are milliseconds since 1970 UTC, amounts whole cents: SQLite has no better types.

CREATE TABLE progresso (
  namespace     TEXT    PRIMARY KEY,
  made          INTEGER NOT NULL, -- every result of every checkpoint up to this one is in
  restores      INTEGER NOT NULL, -- restores of the chain that the tables have followed
  ultima_janela INTEGER,          -- newest janela_inicio ever written
  atualizado_em INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE viagens (
  trip_id         TEXT    PRIMARY KEY,
  fase            TEXT    NOT NULL, -- aguardando, em_curso, encerrada, cancelada
  regiao          TEXT    NOT NULL, -- '' = not known yet
  categoria       TEXT    NOT NULL,
  inicio          INTEGER,
  termino         INTEGER,
  inicio_inferido INTEGER NOT NULL, -- 1: no INICIO, the first position is the start
  distancia_mm    INTEGER NOT NULL, -- from inicio to termino, or so far
  duracao_s       INTEGER NOT NULL,
  pontos          INTEGER NOT NULL,
  descartados     INTEGER NOT NULL,
  fatura_versao   INTEGER NOT NULL, -- 0 = no bill
  valor_centavos  INTEGER,          -- NULL = no bill
  moeda           TEXT    NOT NULL,
  motivo          TEXT    NOT NULL, -- '', cancelada, anulada, inicio_inferido
  conciliacao     TEXT    NOT NULL,
  checkpoint_id   INTEGER NOT NULL, -- that made the row
  atualizado_em   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX viagens_inicio ON viagens (inicio / 60000 * 60000);
CREATE INDEX viagens_termino ON viagens (termino / 60000 * 60000);

CREATE TABLE janelas (
  trip_id              TEXT    NOT NULL,
  janela_inicio        INTEGER NOT NULL, -- [janela_inicio, + 5 min)
  versao               INTEGER NOT NULL,
  pontos               INTEGER NOT NULL,
  descartados          INTEGER NOT NULL,
  distancia_mm         INTEGER NOT NULL,
  tempo_ms             INTEGER NOT NULL,
  velocidade_max_kmh   REAL,
  velocidade_media_kmh REAL,
  primeiro             INTEGER,
  ultimo               INTEGER,
  veredito             TEXT    NOT NULL,
  checkpoint_id        INTEGER NOT NULL,
  atualizado_em        INTEGER NOT NULL,
  PRIMARY KEY (janela_inicio, trip_id) -- by time, for reading a stretch and for pruning
) WITHOUT ROWID;

-- The fleet by minute of event time: a trip counts where it began and where it ended. Sums
-- over rows as they stand, so a correction moves them by itself. What began and what ended
-- are rows of their own: sum by whatever you group by. (One row would cost SQLite the index:
-- it pushes a condition on minuto through one GROUP BY, not through two.)
CREATE VIEW frota_minuto AS
SELECT inicio / 60000 * 60000 AS minuto, regiao, moeda, COUNT(*) AS iniciadas,
       0 AS encerradas, 0 AS canceladas, 0 AS faturadas, 0 AS valor_centavos, 0 AS distancia_mm
FROM viagens WHERE inicio IS NOT NULL AND fase <> 'cancelada' GROUP BY inicio / 60000 * 60000, regiao, moeda
UNION ALL
SELECT termino / 60000 * 60000 AS minuto, regiao, moeda, 0 AS iniciadas,
       SUM(fase = 'encerrada') AS encerradas,
       SUM(fase = 'cancelada') AS canceladas,
       SUM(fatura_versao > 0 AND motivo <> 'anulada') AS faturadas,
       SUM(COALESCE(valor_centavos, 0)) AS valor_centavos, SUM(distancia_mm) AS distancia_mm
FROM viagens WHERE termino IS NOT NULL GROUP BY termino / 60000 * 60000, regiao, moeda;

-- The fleet by window: what was driven in those five minutes, finished trips or not.
CREATE VIEW frota_janela AS
SELECT janela_inicio, COALESCE(regiao, '') AS regiao, COUNT(*) AS viagens,
       SUM(j.pontos) AS pontos, SUM(j.descartados) AS descartados,
       SUM(j.distancia_mm) AS distancia_mm, SUM(j.tempo_ms) AS tempo_ms
FROM janelas j LEFT JOIN viagens v ON v.trip_id = j.trip_id
GROUP BY janela_inicio, COALESCE(regiao, '');
