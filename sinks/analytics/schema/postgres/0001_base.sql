CREATE TABLE progresso (
  namespace     text        PRIMARY KEY,
  made          bigint      NOT NULL, -- every result of every checkpoint up to this one is in
  restores      bigint      NOT NULL, -- restores of the chain that the tables have followed
  ultima_janela timestamptz,          -- newest janela_inicio ever written
  atualizado_em timestamptz NOT NULL
);

CREATE TABLE viagens (
  trip_id         text        PRIMARY KEY,
  fase            text        NOT NULL, -- aguardando, em_curso, encerrada, cancelada
  regiao          text        NOT NULL, -- '' = not known yet
  categoria       text        NOT NULL,
  inicio          timestamptz,
  termino         timestamptz,
  inicio_inferido boolean     NOT NULL, -- no INICIO, the first position is the start
  distancia_mm    bigint      NOT NULL, -- from inicio to termino, or so far
  duracao_s       bigint      NOT NULL,
  pontos          bigint      NOT NULL,
  descartados     bigint      NOT NULL,
  fatura_versao   bigint      NOT NULL, -- 0 = no bill
  valor_centavos  bigint,               -- NULL = no bill
  moeda           text        NOT NULL,
  motivo          text        NOT NULL, -- '', cancelada, anulada, inicio_inferido
  conciliacao     text        NOT NULL,
  checkpoint_id   bigint      NOT NULL, -- that made the row
  atualizado_em   timestamptz NOT NULL
);

-- The very expressions of frota_minuto: a condition on minuto becomes a range of them.
CREATE INDEX viagens_inicio ON viagens (date_bin('1 minute', inicio, '2000-01-01 00:00:00+00'));
CREATE INDEX viagens_termino ON viagens (date_bin('1 minute', termino, '2000-01-01 00:00:00+00'));

CREATE TABLE janelas (
  trip_id              text        NOT NULL,
  janela_inicio        timestamptz NOT NULL, -- [janela_inicio, + 5 min)
  versao               bigint      NOT NULL,
  pontos               bigint      NOT NULL,
  descartados          bigint      NOT NULL,
  distancia_mm         bigint      NOT NULL,
  tempo_ms             bigint      NOT NULL,
  velocidade_max_kmh   double precision,
  velocidade_media_kmh double precision,
  primeiro             timestamptz,
  ultimo               timestamptz,
  veredito             text        NOT NULL,
  checkpoint_id        bigint      NOT NULL,
  atualizado_em        timestamptz NOT NULL,
  PRIMARY KEY (janela_inicio, trip_id) -- by time, for reading a stretch and for pruning
);

-- The fleet by minute of event time: a trip counts where it began and where it ended. Sums
-- over rows as they stand, so a correction moves them by itself. What began and what ended
-- are rows of their own: sum by whatever you group by.
CREATE VIEW frota_minuto AS
SELECT date_bin('1 minute', inicio, '2000-01-01 00:00:00+00') AS minuto, regiao, moeda, COUNT(*) AS iniciadas,
       0::bigint AS encerradas, 0::bigint AS canceladas, 0::bigint AS faturadas, 0::bigint AS valor_centavos, 0::bigint AS distancia_mm
FROM viagens WHERE inicio IS NOT NULL AND fase <> 'cancelada' GROUP BY date_bin('1 minute', inicio, '2000-01-01 00:00:00+00'), regiao, moeda
UNION ALL
SELECT date_bin('1 minute', termino, '2000-01-01 00:00:00+00') AS minuto, regiao, moeda, 0::bigint AS iniciadas,
       COUNT(*) FILTER (WHERE fase = 'encerrada') AS encerradas,
       COUNT(*) FILTER (WHERE fase = 'cancelada') AS canceladas,
       COUNT(*) FILTER (WHERE fatura_versao > 0 AND motivo <> 'anulada') AS faturadas,
       SUM(COALESCE(valor_centavos, 0))::bigint AS valor_centavos, SUM(distancia_mm)::bigint AS distancia_mm
FROM viagens WHERE termino IS NOT NULL GROUP BY date_bin('1 minute', termino, '2000-01-01 00:00:00+00'), regiao, moeda;

-- The fleet by window: what was driven in those five minutes, finished trips or not.
CREATE VIEW frota_janela AS
SELECT janela_inicio, COALESCE(regiao, '') AS regiao, COUNT(*) AS viagens,
       SUM(j.pontos)::bigint AS pontos, SUM(j.descartados)::bigint AS descartados,
       SUM(j.distancia_mm)::bigint AS distancia_mm, SUM(j.tempo_ms)::bigint AS tempo_ms
FROM janelas j LEFT JOIN viagens v ON v.trip_id = j.trip_id
GROUP BY janela_inicio, COALESCE(regiao, '');
