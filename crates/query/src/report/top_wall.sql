WITH {{life}}, grouped AS (
  SELECT program, {{category}} AS category, CAST(count(*) AS BIGINT) AS processes,
    CAST(sum(wall_time) AS BIGINT) AS wall_time, CAST(sum(cpu_time) AS BIGINT) AS cpu_time,
    CAST(sum(cpu_wait) AS BIGINT) AS cpu_wait, CAST(sum(io_wait) AS BIGINT) AS io_wait,
    CAST(sum(blocked_time) AS BIGINT) AS blocked_time,
    CAST(sum(greatest(wall_time - coalesce(cpu_time, 0) - coalesce(cpu_wait, 0)
      - coalesce(blocked_time, 0), 0)) AS BIGINT) AS asleep_time
  FROM chosen GROUP BY program, {{category}}
)
SELECT program, category, processes, wall_time, cpu_time, cpu_wait, io_wait, blocked_time,
  asleep_time
FROM grouped
ORDER BY greatest(coalesce(blocked_time, 0), coalesce(io_wait, 0)) DESC, wall_time DESC, program,
  category
LIMIT {{rows 20}}
