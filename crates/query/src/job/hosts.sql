WITH {{life}}, members AS (
  SELECT host, boot_id, pid, start_ns FROM chosen
), stepped AS (
  SELECT s.host, s.boot_id, s.pid, s.start_ns, s.at_ns, s.cpu_time, s.rss, s.rss_anon, s.rss_shmem,
    s.swap, s.threads,
    lag(s.cpu_time) OVER (PARTITION BY s.host, s.boot_id, s.pid, s.start_ns ORDER BY s.at_ns)
      AS cpu_before
  FROM members AS m JOIN (
    SELECT host, boot_id, pid, start_ns, at_ns, cpu_time, rss, rss_anon, rss_shmem, swap, threads
    FROM sample WHERE {{hosts}} AND {{window}} AND {{pids}}
  ) AS s ON m.host = s.host AND m.boot_id = s.boot_id AND m.pid = s.pid AND m.start_ns = s.start_ns
), instants AS (
  SELECT t.host, t.boot_id, t.at_ns, sum(t.rss) AS rss, sum(t.rss_anon + t.rss_shmem) AS memory,
    sum(t.swap) AS swap, count(*) AS processes, sum(t.threads) AS threads,
    sum(t.cpu_time - coalesce(t.cpu_before,
      CASE WHEN t.start_ns < b.begin_ns THEN t.cpu_time ELSE 0 END)) AS cpu
  FROM stepped AS t JOIN begun AS b ON b.host = t.host AND b.boot_id = t.boot_id
  GROUP BY t.host, t.boot_id, t.at_ns
), marks AS (
  SELECT host, boot_id, at_ns FROM instants
  UNION
  SELECT host, boot_id, max(from_ns + wall_time) AS at_ns FROM chosen GROUP BY host, boot_id
), steps AS (
  SELECT m.host, m.boot_id, m.at_ns, m.at_ns - coalesce(
    lag(m.at_ns) OVER (PARTITION BY m.host, m.boot_id ORDER BY m.at_ns), f.from_ns) AS step
  FROM marks AS m JOIN (
    SELECT host, boot_id, min(from_ns) AS from_ns FROM chosen GROUP BY host, boot_id
  ) AS f ON f.host = m.host AND f.boot_id = m.boot_id
), behind AS (
  SELECT host, boot_id, cpu, min(mark) OVER (PARTITION BY host, boot_id
    ORDER BY at_ns, mark NULLS FIRST ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS at_ns
  FROM (
    SELECT host, boot_id, at_ns, at_ns AS mark, CAST(NULL AS BIGINT) AS cpu FROM marks
    UNION ALL
    SELECT host, boot_id, end_ns, CAST(NULL AS BIGINT), cpu_behind FROM chosen
    WHERE end_ns IS NOT NULL
  ) AS told
), busy AS (
  SELECT g.host, g.boot_id, g.at_ns, sum(g.cpu) AS cpu FROM (
    SELECT host, boot_id, at_ns, cpu FROM instants
    UNION ALL
    SELECT host, boot_id, at_ns, cpu FROM behind WHERE cpu IS NOT NULL
  ) AS g GROUP BY g.host, g.boot_id, g.at_ns
), cores AS (
  SELECT s.host, s.boot_id, CAST(max(s.step) AS BIGINT) AS period_ns,
    max(CASE WHEN s.step >= 20000000 THEN CAST(b.cpu AS DOUBLE) / s.step END) AS cores_peak
  FROM steps AS s LEFT JOIN busy AS b
    ON b.host = s.host AND b.boot_id = s.boot_id AND b.at_ns = s.at_ns
  GROUP BY s.host, s.boot_id
), peaks AS (
  SELECT i.host, i.boot_id, CAST(max(i.rss) AS BIGINT) AS rss_peak,
    CAST(max(i.memory) AS BIGINT) AS memory_peak, CAST(max(i.swap) AS BIGINT) AS swap_peak,
    CAST(max(i.processes) AS BIGINT) AS processes_peak,
    CAST(max(i.threads) AS BIGINT) AS threads_peak
  FROM instants AS i GROUP BY i.host, i.boot_id
), sums AS (
  SELECT host, boot_id, CAST(count(*) AS BIGINT) AS processes,
    CAST(sum(CASE WHEN end_ns IS NULL THEN 0 ELSE 1 END) AS BIGINT) AS ended,
    CAST(sum(cpu_time) AS BIGINT) AS cpu_time, CAST(sum(cpu_wait) AS BIGINT) AS cpu_wait,
    CAST(sum(blocked_time) AS BIGINT) AS blocked_time,
    CAST(sum(bytes_read) AS BIGINT) AS bytes_read,
    CAST(sum(bytes_written) AS BIGINT) AS bytes_written,
    CAST(sum(disk_read) AS BIGINT) AS disk_read,
    CAST(sum(disk_written) AS BIGINT) AS disk_written,
    CAST(sum(faults_major) AS BIGINT) AS faults_major,
    max(rss_peak) AS rss_peak_process, min(from_ns) AS from_ns,
    max(from_ns + wall_time) - min(from_ns) AS elapsed
  FROM chosen GROUP BY host, boot_id
)
SELECT s.host, s.boot_id, s.processes, s.ended, c.offset_ns + s.from_ns AS began_ns, s.elapsed,
  s.cpu_time, s.cpu_wait, s.blocked_time, s.bytes_read, s.bytes_written, s.disk_read,
  s.disk_written, s.faults_major, s.rss_peak_process, p.rss_peak, p.memory_peak, p.swap_peak,
  p.processes_peak, p.threads_peak, r.cores_peak, r.period_ns
FROM sums AS s LEFT JOIN peaks AS p ON p.host = s.host AND p.boot_id = s.boot_id
  LEFT JOIN cores AS r ON r.host = s.host AND r.boot_id = s.boot_id
  LEFT JOIN begun AS c ON c.host = s.host AND c.boot_id = s.boot_id
ORDER BY s.host, began_ns
