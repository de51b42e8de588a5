WITH {{life}}, {{jobs}}, kinds AS (
  SELECT identifier, max(CASE WHEN scheduler IN ('container', 'kubernetes') THEN 'container'
    WHEN scheduler IN ('systemd', 'login') THEN NULL ELSE 'batch' END) AS kind
  FROM jobs GROUP BY identifier
), sorted AS (
  SELECT c.*, CASE WHEN c.identifier = '' THEN 'other' WHEN k.kind IS NOT NULL THEN k.kind
    WHEN c.identifier LIKE 'user-%' THEN 'login' WHEN c.identifier LIKE '%.service' THEN 'service'
    WHEN c.identifier LIKE '%.scope' THEN 'service' ELSE 'other' END AS kind
  FROM chosen AS c LEFT JOIN kinds AS k ON k.identifier = c.identifier
), grouped AS (
  SELECT kind, CAST(count(*) AS BIGINT) AS processes,
    CAST(count(DISTINCT person) AS BIGINT) AS users,
    CAST(count(DISTINCT CASE WHEN identifier = '' THEN NULL ELSE identifier END) AS BIGINT) AS jobs,
    CAST(sum(cpu_time) AS BIGINT) AS cpu_time, CAST(sum(wall_time) AS BIGINT) AS wall_time,
    CAST(sum(bytes_read) AS BIGINT) AS bytes_read,
    CAST(sum(bytes_written) AS BIGINT) AS bytes_written, max(rss_peak) AS rss_peak
  FROM sorted GROUP BY kind
)
SELECT kind, processes, users, jobs, cpu_time,
  CAST(cpu_time AS DOUBLE) / nullif(CAST(sum(cpu_time) OVER () AS DOUBLE), 0) AS cpu_share,
  wall_time, {{div wall_time, processes}} AS mean_life, bytes_read, bytes_written, rss_peak
FROM grouped
ORDER BY coalesce(cpu_time, -1) DESC, kind
