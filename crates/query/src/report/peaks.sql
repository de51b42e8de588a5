slots AS (
  SELECT identifier, host, row_number() OVER (ORDER BY identifier, host) AS slot
  FROM (SELECT DISTINCT identifier, host FROM chosen WHERE identifier IN
    (SELECT identifier FROM jobs WHERE scheduler NOT IN ('systemd', 'login'))) AS d
), members AS (
  SELECT w.host, w.boot_id, w.pid, w.start_ns, s.slot
  FROM chosen AS w
    JOIN slots AS s ON s.identifier = w.identifier AND s.host = w.host
), instants AS (
  SELECT s.at_ns, m.slot, sum(s.rss) AS rss
  FROM members AS m JOIN (
    SELECT host, boot_id, pid, start_ns, at_ns, rss FROM sample
    WHERE {{hosts}} AND {{window}} AND {{pids}}
  ) AS s ON m.host = s.host AND m.boot_id = s.boot_id AND m.pid = s.pid AND m.start_ns = s.start_ns
  GROUP BY s.at_ns, m.slot
), parts AS (
  SELECT slot, max(rss) AS rss_peak FROM instants GROUP BY slot
), peaks AS (
  SELECT s.identifier, CAST(sum(p.rss_peak) AS BIGINT) AS rss_peak
  FROM slots AS s JOIN parts AS p ON p.slot = s.slot
  GROUP BY s.identifier
)
