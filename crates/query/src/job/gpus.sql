WITH {{life}}, instants AS (
  SELECT g.host, g.boot_id, g.device, g.at_ns, sum(g.memory) AS memory, sum(g.busy) AS busy
  FROM chosen AS c JOIN (
    SELECT host, boot_id, pid, start_ns, at_ns, device, memory, busy
    FROM gpu WHERE {{hosts}} AND {{window}} AND {{pids}}
  ) AS g ON c.host = g.host AND c.boot_id = g.boot_id AND c.pid = g.pid AND c.start_ns = g.start_ns
  GROUP BY g.host, g.boot_id, g.device, g.at_ns
)
SELECT host, device, CAST(max(memory) AS BIGINT) AS memory_peak,
  avg(CAST(busy AS DOUBLE)) / 1000000 AS busy_mean, max(CAST(busy AS DOUBLE)) / 1000000 AS busy_peak
FROM instants GROUP BY host, device ORDER BY host, device
