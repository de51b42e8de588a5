WITH {{life}}
SELECT g.host, g.device, CAST(max(g.memory) AS BIGINT) AS memory_peak,
  avg(CAST(g.busy AS DOUBLE)) / 1000000 AS busy_mean, max(CAST(g.busy AS DOUBLE)) / 1000000 AS busy_peak
FROM chosen AS c JOIN gpu AS g ON c.host = g.host AND c.boot_id = g.boot_id AND c.pid = g.pid
  AND c.start_ns = g.start_ns
GROUP BY g.host, g.device
ORDER BY g.host, g.device
