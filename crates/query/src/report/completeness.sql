WITH {{life}}, kernel_parts AS (
  SELECT host, boot_id, metric, max(value) - min(value) AS value
  FROM node WHERE {{hosts}} AND {{window}} AND instance = '' AND metric IN ('node_cpu_user',
    'node_cpu_nice', 'node_cpu_system', 'node_cpu_irq', 'node_cpu_softirq')
  GROUP BY host, boot_id, metric
), kernel AS (
  SELECT host, boot_id, CAST(sum(value) AS BIGINT) AS cpu_kernel FROM kernel_parts
  GROUP BY host, boot_id
), lost AS (
  SELECT host, boot_id, max(value) AS rows_lost
  FROM node WHERE {{hosts}} AND {{window}} AND metric = 'agent_rows_lost' GROUP BY host, boot_id
), readings AS (
  SELECT host, boot_id, at_ns FROM node
  WHERE {{hosts}} AND {{window}} AND metric = 'node_cpu_user' AND instance = ''
  GROUP BY host, boot_id, at_ns
), steps AS (
  SELECT host, boot_id, at_ns,
    at_ns - lag(at_ns) OVER (PARTITION BY host, boot_id ORDER BY at_ns) AS step
  FROM readings
), usual AS (
  SELECT host, boot_id, CAST(min(step) AS BIGINT) AS shortest, max(step) AS longest,
    CAST({{div sum(step), count(step)}} AS BIGINT) AS mean, count(*) AS readings
  FROM steps GROUP BY host, boot_id
), gaps AS (
  SELECT s.host, s.boot_id, CAST(count(*) AS BIGINT) AS gaps
  FROM steps AS s JOIN usual AS u ON u.host = s.host AND u.boot_id = s.boot_id
  WHERE 2 * s.step >= 3 * u.mean GROUP BY s.host, s.boot_id
), until_then AS (
  SELECT l.*, l.cpu_time - CASE WHEN l.end_ns > b.over_ns THEN l.cpu_behind ELSE 0 END AS cpu_then
  FROM chosen AS l LEFT JOIN begun AS b ON b.host = l.host AND b.boot_id = l.boot_id
), told_of AS (
  SELECT l.host, l.boot_id, CAST(count(*) AS BIGINT) AS processes,
    CAST(sum(CASE WHEN l.end_ns IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS ends,
    CAST(sum(CASE WHEN l.words IS NULL AND l.exe IS NULL THEN 1 ELSE 0 END) AS BIGINT)
      AS without_command,
    CAST(sum(l.cpu_then) AS BIGINT) AS cpu_told,
    CAST(sum(CASE WHEN l.program = '' THEN 0 ELSE l.cpu_then END) AS BIGINT) AS cpu_identified
  FROM until_then AS l GROUP BY l.host, l.boot_id
)
SELECT b.host, b.boot_id, b.over_ns - b.begin_ns AS watched, u.readings, u.mean AS {{name interval}},
  coalesce(g.gaps, 0) AS gaps, u.longest AS gap_longest, k.cpu_kernel, t.cpu_told,
  CAST(t.cpu_told AS DOUBLE) / nullif(CAST(k.cpu_kernel AS DOUBLE), 0) AS cpu_share,
  t.cpu_identified,
  CAST(t.cpu_identified AS DOUBLE) / nullif(CAST(k.cpu_kernel AS DOUBLE), 0) AS identified_share,
  t.processes, t.ends, t.without_command, l.rows_lost
FROM begun AS b LEFT JOIN kernel AS k ON k.host = b.host AND k.boot_id = b.boot_id
  LEFT JOIN lost AS l ON l.host = b.host AND l.boot_id = b.boot_id
  LEFT JOIN usual AS u ON u.host = b.host AND u.boot_id = b.boot_id
  LEFT JOIN gaps AS g ON g.host = b.host AND g.boot_id = b.boot_id
  LEFT JOIN told_of AS t ON t.host = b.host AND t.boot_id = b.boot_id
ORDER BY b.host, b.boot_id
