WITH {{life}}, grouped AS (
  SELECT program, {{category}} AS category, CAST(count(*) AS BIGINT) AS processes,
    CAST(count(DISTINCT person) AS BIGINT) AS users, CAST(sum(cpu_time) AS BIGINT) AS cpu_time,
    CAST(sum(cpu_wait) AS BIGINT) AS cpu_wait, CAST(sum(wall_time) AS BIGINT) AS wall_time,
    max(rss_peak) AS rss_peak
  FROM chosen GROUP BY program, {{category}}
)
SELECT program, category, processes, users, cpu_time,
  CAST(cpu_time AS DOUBLE) / nullif(CAST(sum(cpu_time) OVER () AS DOUBLE), 0) AS cpu_share,
  cpu_wait, wall_time,
  CAST(cpu_time AS DOUBLE) / nullif(CAST(wall_time AS DOUBLE), 0) AS cores, rss_peak
FROM grouped
ORDER BY coalesce(cpu_time, -1) DESC, program, category
LIMIT {{rows 20}}
