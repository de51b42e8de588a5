WITH RECURSIVE {{life}}, members AS (
  SELECT host, boot_id, pid, start_ns, ppid, subidentifier, program, words, wall_time, cpu_time,
    rss_peak, bytes_read, bytes_written, exit_code, signal,
    lpad(CAST(start_ns AS {{string}}), 20, '0') || lpad(CAST(pid AS {{string}}), 10, '0') AS self
  FROM chosen
), parents AS (
  SELECT c.host, c.boot_id, c.pid, c.start_ns, max(p.self) AS parent
  FROM members AS c LEFT JOIN members AS p ON p.host = c.host AND p.boot_id = c.boot_id
    AND p.pid = c.ppid AND p.start_ns <= c.start_ns AND p.self <> c.self
  GROUP BY c.host, c.boot_id, c.pid, c.start_ns
), linked AS (
  SELECT m.*, p.parent FROM members AS m JOIN parents AS p ON p.host = m.host
    AND p.boot_id = m.boot_id AND p.pid = m.pid AND p.start_ns = m.start_ns
), walked AS (
  SELECT host, boot_id, self, CAST(0 AS BIGINT) AS depth, self AS path
  FROM linked WHERE parent IS NULL
  UNION ALL
  SELECT l.host, l.boot_id, l.self, w.depth + 1, w.path || '/' || l.self
  FROM walked AS w JOIN linked AS l ON l.host = w.host AND l.boot_id = w.boot_id
    AND l.parent = w.self
  WHERE w.depth < 64
), firsts AS (
  SELECT host, boot_id, min(start_ns) AS first_ns FROM members GROUP BY host, boot_id
)
SELECT l.host, l.subidentifier AS step, w.depth, l.pid,
  repeat('  ', CAST(w.depth AS INT)) || l.program AS process, l.start_ns - f.first_ns AS began,
  l.wall_time, l.cpu_time, l.rss_peak, l.bytes_read, l.bytes_written, l.exit_code, l.signal,
  replace(l.words, chr(31), ' ') AS command
FROM walked AS w JOIN linked AS l ON l.host = w.host AND l.boot_id = w.boot_id AND l.self = w.self
  JOIN firsts AS f ON f.host = l.host AND f.boot_id = l.boot_id
ORDER BY l.host, l.boot_id, w.path
LIMIT {{rows 1000}}
