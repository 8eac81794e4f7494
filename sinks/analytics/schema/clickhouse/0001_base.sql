-- Instants are milliseconds since 1970 UTC, amounts whole cents, as in SQLite. A row is added,
-- not replaced: the tables ..._versoes keep the newest checkpoint_id of a key when ClickHouse
-- merges them, and the views of the plain names show it before. Read the views.

-- One row per commit; the greatest stands.
CREATE TABLE IF NOT EXISTS progresso_passos (
  namespace     String,
  made          Int64,
  restores      Int64,
  ultima_janela Nullable(Int64),
  atualizado_em Int64
) ENGINE = MergeTree ORDER BY (namespace, made);

CREATE VIEW IF NOT EXISTS progresso AS
SELECT namespace, max(m) AS made, max(r) AS restores, max(u) AS ultima_janela, max(a) AS atualizado_em
FROM (SELECT namespace, made AS m, restores AS r, ultima_janela AS u, atualizado_em AS a FROM progresso_passos)
GROUP BY namespace;

CREATE TABLE IF NOT EXISTS viagens_versoes (
  trip_id         String,
  fase            String,           -- aguardando, em_curso, encerrada, cancelada
  regiao          String,           -- '' = not known yet
  categoria       String,
  inicio          Nullable(Int64),
  termino         Nullable(Int64),
  inicio_inferido UInt8,            -- 1: no INICIO, the first position is the start
  distancia_mm    Int64,            -- from inicio to termino, or so far
  duracao_s       Int64,
  pontos          Int64,
  descartados     Int64,
  fatura_versao   Int64,            -- 0 = no bill
  valor_centavos  Nullable(Int64),  -- NULL = no bill
  moeda           String,
  motivo          String,           -- '', cancelada, anulada, inicio_inferido
  conciliacao     String,
  checkpoint_id   UInt64,           -- that made the row
  atualizado_em   Int64
) ENGINE = ReplacingMergeTree(checkpoint_id) ORDER BY trip_id;

CREATE VIEW IF NOT EXISTS viagens AS
SELECT trip_id, fase, regiao, categoria, inicio, termino, inicio_inferido, distancia_mm, duracao_s, pontos, descartados,
       fatura_versao, valor_centavos, moeda, motivo, conciliacao, checkpoint_id, atualizado_em
FROM viagens_versoes FINAL;

-- Pruned by partitions of six hours; the view cuts at the exact day.
CREATE TABLE IF NOT EXISTS janelas_versoes (
  trip_id              String,
  janela_inicio        Int64,            -- [janela_inicio, + 5 min)
  versao               Int64,
  pontos               Int64,
  descartados          Int64,
  distancia_mm         Int64,
  tempo_ms             Int64,
  velocidade_max_kmh   Nullable(Float64),
  velocidade_media_kmh Nullable(Float64),
  primeiro             Nullable(Int64),
  ultimo               Nullable(Int64),
  veredito             String,
  checkpoint_id        UInt64,
  atualizado_em        Int64
) ENGINE = ReplacingMergeTree(checkpoint_id) PARTITION BY intDiv(janela_inicio, 21600000) ORDER BY (janela_inicio, trip_id);

CREATE VIEW IF NOT EXISTS janelas AS
SELECT trip_id, janela_inicio, versao, pontos, descartados, distancia_mm, tempo_ms, velocidade_max_kmh, velocidade_media_kmh,
       primeiro, ultimo, veredito, checkpoint_id, atualizado_em
FROM janelas_versoes FINAL
WHERE janela_inicio >= (SELECT max(ultima_janela) - 86400000 FROM progresso_passos);

-- The fleet by minute of event time: a trip counts where it began and where it ended. Sums
-- over rows as they stand, so a correction moves them by itself.
CREATE VIEW IF NOT EXISTS frota_minuto AS
SELECT minuto, regiao, moeda,
       sum(iniciada) AS iniciadas, sum(encerrada) AS encerradas, sum(cancelada) AS canceladas,
       sum(faturada) AS faturadas, sum(valor) AS valor_centavos, sum(distancia) AS distancia_mm
FROM (
  SELECT intDiv(assumeNotNull(inicio), 60000) * 60000 AS minuto, regiao, moeda,
         toInt64(1) AS iniciada, toInt64(0) AS encerrada, toInt64(0) AS cancelada, toInt64(0) AS faturada, toInt64(0) AS valor, toInt64(0) AS distancia
  FROM viagens_versoes FINAL WHERE isNotNull(inicio) AND fase != 'cancelada'
  UNION ALL
  SELECT intDiv(assumeNotNull(termino), 60000) * 60000 AS minuto, regiao, moeda,
         toInt64(0) AS iniciada, toInt64(fase = 'encerrada') AS encerrada, toInt64(fase = 'cancelada') AS cancelada,
         toInt64(fatura_versao > 0 AND motivo != 'anulada') AS faturada, ifNull(valor_centavos, 0) AS valor, distancia_mm AS distancia
  FROM viagens_versoes FINAL WHERE isNotNull(termino)
)
GROUP BY minuto, regiao, moeda;

-- The fleet by window: what was driven in those five minutes, finished trips or not. Only the
-- trips of those windows are looked up.
CREATE VIEW IF NOT EXISTS frota_janela AS
SELECT janela_inicio, regiao, toInt64(count()) AS viagens,
       sum(j_pontos) AS pontos, sum(j_descartados) AS descartados, sum(j_distancia) AS distancia_mm, sum(j_tempo) AS tempo_ms
FROM (
  SELECT trip_id, janela_inicio, pontos AS j_pontos, descartados AS j_descartados, distancia_mm AS j_distancia, tempo_ms AS j_tempo
  FROM janelas
) AS j ANY LEFT JOIN (
  SELECT trip_id, regiao FROM viagens_versoes FINAL WHERE trip_id IN (SELECT trip_id FROM janelas_versoes)
) AS v USING (trip_id)
GROUP BY janela_inicio, regiao;
